// One picture with the maps of all heads, small, each where its cell of the grid stands.
import { h } from "./dom.js";
import { picture } from "./maps.js";
import { layer } from "./unpack.js";

const SHARP = 2;

// `cells`: [{stack, layer, head, x, y, side}]. Gives the address of a picture of the layout's size.
export async function thumbnails(maps, { width, height }, cells, { dark } = {}) {
  const canvas = h("canvas", { width: SHARP * width, height: SHARP * height });
  const context = canvas.getContext("2d");
  context.scale(SHARP, SHARP);
  context.imageSmoothingQuality = "high";
  for (const { stack, layer: number, head, x, y, side } of cells) {
    const found = maps.stacks.find((one) => one.stack === stack);
    if (!found || number >= found.shape[0] || head >= found.shape[1]) continue;
    const [, , rows, columns] = found.shape;
    const bytes = await layer(found, number);
    const map = strongestOf(
      bytes.subarray(head * rows * columns, (head + 1) * rows * columns),
      rows,
      columns,
      SHARP * side,
    );
    // Few tokens are squares, many are shrunk.
    context.imageSmoothingEnabled = Math.max(map.rows, map.columns) > side;
    context.drawImage(
      picture(map.bytes, 0, map.rows, map.columns, { dark, causal: found.causal }),
      ...[x, y, side, side],
    );
  }
  return canvas.toDataURL();
}

// A map of more tokens than there are pixels: the strongest weight of each block, as in a mean a thin line would vanish.
export function strongestOf(bytes, rows, columns, most) {
  const step = Math.ceil(Math.max(rows, columns) / Math.max(1, most));
  if (step === 1) return { bytes, rows, columns };
  const [high, wide] = [Math.ceil(rows / step), Math.ceil(columns / step)];
  const found = new Uint8Array(high * wide);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const at = Math.floor(row / step) * wide + Math.floor(column / step);
      found[at] = Math.max(found[at], bytes[row * columns + column]);
    }
  return { bytes: found, rows: high, columns: wide };
}
