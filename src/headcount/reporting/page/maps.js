// One head's attention map: as a picture with its tokens, and as lines between words.

import { interpolateBlues, interpolateViridis } from "d3-scale-chromatic";
import { rgb } from "./colour.js";
import { drawing, h, s } from "./dom.js";
import { plain, shorten } from "./format.js";
import { layer } from "./unpack.js";

export const weight = (byte) => (byte / 255) ** 2;

// A byte is the square root of a weight: small weights stay visible. One 32-bit number a shade, as pictures hold them.
const tables = new Map();

function shades() {
  const dark = document.documentElement.dataset.dark === "yes";
  if (!tables.has(dark)) {
    const of = dark ? interpolateViridis : interpolateBlues;
    tables.set(
      dark,
      Uint32Array.from({ length: 256 }, (_, byte) => {
        const [r, g, b] = rgb(of(byte / 255));
        return (255 << 24) | (b << 16) | (g << 8) | r;
      }),
    );
  }
  return tables.get(dark);
}

export function picture(bytes, offset, rows, columns) {
  const canvas = h("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const table = shades();
  for (let at = 0; at < pixels.length; at++) pixels[at] = table[bytes[offset + at]];
  context.putImageData(image, 0, 0);
  return canvas;
}

// Which colour is which weight: shades go by the square root, so that small weights stay visible.
export function mapScale() {
  const weights = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1];
  const ramp = picture(
    Uint8Array.from({ length: 256 }, (_, byte) => byte),
    0,
    1,
    256,
  );
  const x = (value) => 106 + 256 * Math.sqrt(value);
  return drawing(
    400,
    32,
    "Colours of weights from 0 to 1, by their square roots",
    s("text", { x: 98, y: 12, "text-anchor": "end", class: "tick" }, "weight"),
    s("image", {
      x: 106,
      y: 2,
      width: 256,
      height: 12,
      preserveAspectRatio: "none",
      href: ramp.toDataURL(),
    }),
    weights.map((value) => s("text", { x: x(value), y: 27, "text-anchor": "middle", class: "tick" }, String(value))),
  );
}

// One head's map with its tokens; the cell under the pointer is told in words.
export async function headMap(stack, layerNumber, head, told, more) {
  const bytes = await layer(stack, layerNumber);
  const [, , rows, columns] = stack.shape;
  return tokenMap(bytes, head * rows * columns, stack.queries, stack.keys, told, more);
}

// `outlines`: rectangles in cells [row, column, rows, columns]; `choose` is called with the cell that is clicked.
export function tokenMap(bytes, offset, queries, keys, told, { outlines = [], choose = null } = {}) {
  const [rows, columns] = [queries.length, keys.length];
  const named = Math.max(rows, columns) <= 64;
  const size = Math.max(1, Math.min(16, Math.floor(420 / Math.max(rows, columns))) || 1);
  const cell = Math.max(rows, columns) > 420 ? 420 / Math.max(rows, columns) : size;
  const left = named ? 106 : 8,
    top = named ? 106 : 8;
  const width = left + columns * cell + 6,
    height = top + rows * cell + 6;
  const image = s("image", {
    x: left,
    y: top,
    width: columns * cell,
    height: rows * cell,
    preserveAspectRatio: "none",
    class: "pixels",
    href: picture(bytes, offset, rows, columns).toDataURL(),
  });
  const font = Math.min(11, Math.max(6, cell));
  const names = named
    ? [
        queries.map((token, row) =>
          s(
            "text",
            { x: left - 4, y: top + (row + 0.75) * cell, "text-anchor": "end", class: "token", "font-size": font },
            shorten(token, 13),
          ),
        ),
        keys.map((token, column) =>
          s(
            "text",
            {
              transform: `translate(${left + (column + 0.75) * cell},${top - 4}) rotate(-90)`,
              class: "token",
              "font-size": font,
            },
            shorten(token, 13),
          ),
        ),
      ]
    : [];
  const frames = outlines.map(([row, column, high, wide]) =>
    s("rect", {
      x: left + column * cell,
      y: top + row * cell,
      width: wide * cell,
      height: high * cell,
      class: "outline",
    }),
  );
  const said = "Attention map: from the tokens on the left to the tokens above";
  const node = drawing(width, height, said, names, image, frames);
  const under = (event) => {
    const pointer = new DOMPoint(event.clientX, event.clientY).matrixTransform(node.getScreenCTM().inverse());
    const column = Math.floor((pointer.x - left) / cell),
      row = Math.floor((pointer.y - top) / cell);
    return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
  };
  node.addEventListener("mousemove", (event) => {
    const at = under(event);
    told.textContent = at
      ? `${queries[at[0]]} → ${keys[at[1]]}: ${plain(weight(bytes[offset + at[0] * columns + at[1]]))}`
      : "";
  });
  if (choose) {
    node.classList.add("choosable");
    node.addEventListener("click", (event) => {
      const at = under(event);
      if (at) choose(...at);
    });
  }
  return node;
}

// Lines between words, as thick as the weight: those of one token when it is pointed at or focused.
export async function lines(stack, layerNumber, head) {
  const bytes = await layer(stack, layerNumber);
  const [, , rows, columns] = stack.shape;
  const offset = head * rows * columns;
  const step = Math.max(rows, columns) > 80 ? 12 : 16,
    gap = 150,
    left = 126,
    top = 10;
  const height = top + Math.max(rows, columns) * step + 8;
  const beams = s("g", {});
  const draw = (only) => {
    beams.replaceChildren();
    const found = [];
    for (let row = 0; row < rows; row++) {
      if (only !== null && row !== only) continue;
      for (let column = 0; column < columns; column++) {
        const value = weight(bytes[offset + row * columns + column]);
        if (value >= 0.02) found.push([value, row, column]);
      }
    }
    found.sort((a, b) => b[0] - a[0]);
    for (const [value, row, column] of found.slice(0, 900).reverse())
      beams.append(
        s("line", {
          x1: left,
          y1: top + (row + 0.5) * step,
          x2: left + gap,
          y2: top + (column + 0.5) * step,
          class: "beam",
          opacity: Math.min(1, 0.08 + value).toFixed(2),
          "stroke-width": (0.5 + 2.5 * value).toFixed(1),
        }),
      );
  };
  draw(null);
  const node = drawing(
    left + gap + 126,
    height,
    "Attention as lines from the tokens on the left to those on the right",
    beams,
    stack.queries.map((token, row) =>
      s(
        "text",
        {
          x: left - 6,
          y: top + (row + 0.72) * step,
          "text-anchor": "end",
          class: "token",
          "font-size": step - 4,
          tabindex: 0,
          onmouseenter: () => draw(row),
          onmouseleave: () => draw(null),
          onfocus: () => draw(row),
          onblur: () => draw(null),
        },
        shorten(token, 13),
      ),
    ),
    stack.keys.map((token, column) =>
      s(
        "text",
        { x: left + gap + 6, y: top + (column + 0.72) * step, class: "token", "font-size": step - 4 },
        shorten(token, 13),
      ),
    ),
  );
  return node;
}
