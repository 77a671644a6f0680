// What a byte of a map means and which colour it has: weights, and differences of weights.
// A byte is the square root of a weight, so that small weights stay visible.
import { scaleLinear } from "d3-scale";
import { interpolateBlues, interpolatePuOr } from "d3-scale-chromatic";
import { isDark, rgb } from "./colour.js";

export const weight = (byte) => (byte / 255) ** 2;
const change = (byte) => Math.sign(byte - 128) * (Math.abs(byte - 128) / 127) ** 2;

// On dark paper what is strong is bright.
const blueOnDark = scaleLinear([0, 0.45, 1], ["#1b222b", "#3a7ab8", "#e4f3ff"]);
const onDark = scaleLinear([0, 0.5, 1], ["#ffb55a", "#262c33", "#c3b8ff"]);

export const WEIGHTS = {
  name: "weight",
  read: weight,
  of: (dark) => (dark ? blueOnDark : interpolateBlues),
  ticks: [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1],
  at: (value) => Math.sqrt(value),
  says: "Stronger colours mean more attention, by the square root of the weight.",
};

export const CHANGES = {
  name: "change",
  read: change,
  of: (dark) => (dark ? onDark : (share) => interpolatePuOr(1 - share)),
  ticks: [-1, -0.25, -0.05, 0, 0.05, 0.25, 1],
  at: (value) => (1 + Math.sign(value) * Math.sqrt(Math.abs(value))) / 2,
  says: "Purple is more attention than before, orange less, by the square root of the change.",
};

// One 32-bit number a shade, as pictures hold them.
const tables = new Map();
export function tableOf(shades, dark = isDark()) {
  const key = `${shades.name}${dark}`;
  if (!tables.has(key)) {
    const of = shades.of(dark);
    tables.set(
      key,
      Uint32Array.from({ length: 256 }, (_, byte) => {
        const [r, g, b] = rgb(of(byte / 255));
        return (255 << 24) | (b << 16) | (g << 8) | r;
      }),
    );
  }
  return tables.get(key);
}

// The bytes of what a map has more, or less, than another of the same size: 128 is no change.
export function difference(after, before) {
  return Uint8Array.from(after, (byte, at) => {
    const by = weight(byte) - weight(before[at]);
    return 128 + Math.round(Math.sign(by) * Math.sqrt(Math.abs(by)) * 127);
  });
}

// Whether nothing above the diagonal has a weight: the map of a head that cannot look ahead.
export function isCausal(bytes, rows, columns) {
  if (rows !== columns || rows < 3) return false;
  for (let row = 0; row < rows; row++)
    for (let column = row + 1; column < columns; column++) if (bytes[row * columns + column]) return false;
  return true;
}

// What a head cannot see is grey, which no weight is: red, green and blue on white and on dark paper.
export const unseenColour = (dark = isDark()) => (dark ? [64, 70, 78] : [222, 226, 231]);

// The strongest weight of each row: [row, column, weight].
export function strongest(bytes, rows, columns, read = weight) {
  return Array.from({ length: rows }, (_, row) => {
    let best = 0;
    for (let column = 1; column < columns; column++)
      if (Math.abs(read(bytes[row * columns + column])) > Math.abs(read(bytes[row * columns + best]))) best = column;
    return [row, best, read(bytes[row * columns + best])];
  });
}
