// Attention maps: unpacked when they are looked at, drawn as pictures, as lines between words, and as a wall of all heads.
import { interpolateBlues, interpolateViridis } from "d3-scale-chromatic";
import { rgb } from "./colour.js";
import { drawing, h, s } from "./dom.js";
import { plain, shorten } from "./format.js";

const unpacked = new Map();

// Bytes [head, query, key] of one layer: base64, inflated.
export async function layer(stack, number) {
  const mark = stack.layers[number];
  if (unpacked.has(mark)) return unpacked.get(mark);
  // The maps stand at the end of the file: a link to a head may ask for them before they have arrived.
  if (document.readyState === "loading") await new Promise((done) => addEventListener("DOMContentLoaded", done, { once: true }));
  const text = document.getElementById(mark).textContent;
  const packed = bytesOf(text);
  const [, heads, queries, keys] = stack.shape;
  const bytes = await inflate(packed, heads * queries * keys);
  if (unpacked.size > 64) unpacked.delete(unpacked.keys().next().value);
  unpacked.set(mark, bytes);
  return bytes;
}

// Straight into the stream and out of it: by way of a Blob and a Response it takes several times as long.
async function inflate(packed, size) {
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  writer.write(packed);
  writer.close();
  const bytes = new Uint8Array(size);
  const reader = stream.readable.getReader();
  for (let at = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return bytes;
    bytes.set(value, at);
    at += value.length;
  }
}

// Current browsers know base64 themselves; the loop is for those of last year.
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

const weight = (byte) => (byte / 255) ** 2;

// A byte is the square root of a weight: small weights stay visible. One 32-bit number a shade, as pictures hold them.
const tables = new Map();
function shades() {
  const dark = document.documentElement.dataset.dark === "yes";
  if (!tables.has(dark)) {
    const of = dark ? interpolateViridis : interpolateBlues;
    tables.set(dark, Uint32Array.from({ length: 256 }, (_, byte) => {
      const [r, g, b] = rgb(of(byte / 255));
      return (255 << 24) | (b << 16) | (g << 8) | r;
    }));
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

// One head's map with its tokens; the cell under the pointer is told in words.
export async function headMap(stack, layerNumber, head, told) {
  const bytes = await layer(stack, layerNumber);
  const [, , rows, columns] = stack.shape;
  const offset = head * rows * columns;
  const named = Math.max(rows, columns) <= 64;
  const size = Math.max(1, Math.min(16, Math.floor(420 / Math.max(rows, columns))) || 1);
  const cell = Math.max(rows, columns) > 420 ? 420 / Math.max(rows, columns) : size;
  const left = named ? 106 : 8, top = named ? 106 : 8;
  const width = left + columns * cell + 6, height = top + rows * cell + 6;
  const image = s("image", { x: left, y: top, width: columns * cell, height: rows * cell, preserveAspectRatio: "none", class: "pixels", href: picture(bytes, offset, rows, columns).toDataURL() });
  const font = Math.min(11, Math.max(6, cell));
  const names = named
    ? [stack.queries.map((token, row) => s("text", { x: left - 4, y: top + (row + 0.75) * cell, "text-anchor": "end", class: "token", "font-size": font }, shorten(token, 13))),
       stack.keys.map((token, column) => s("text", { transform: `translate(${left + (column + 0.75) * cell},${top - 4}) rotate(-90)`, class: "token", "font-size": font }, shorten(token, 13)))]
    : [];
  const node = drawing(width, height, "Attention map: from the tokens on the left to the tokens above", names, image);
  node.addEventListener("mousemove", (event) => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(node.getScreenCTM().inverse());
    const column = Math.floor((place.x - left) / cell), row = Math.floor((place.y - top) / cell);
    const inside = row >= 0 && row < rows && column >= 0 && column < columns;
    told.textContent = inside ? `${stack.queries[row]} → ${stack.keys[column]}: ${plain(weight(bytes[offset + row * columns + column]))}` : "";
  });
  return node;
}

// Lines between words, as thick as the weight: those of one token when it is pointed at or focused.
export async function lines(stack, layerNumber, head) {
  const bytes = await layer(stack, layerNumber);
  const [, , rows, columns] = stack.shape;
  const offset = head * rows * columns;
  const step = Math.max(rows, columns) > 80 ? 12 : 16, gap = 150, left = 126, top = 10;
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
      beams.append(s("line", { x1: left, y1: top + (row + 0.5) * step, x2: left + gap, y2: top + (column + 0.5) * step, class: "beam", opacity: Math.min(1, 0.08 + value).toFixed(2), "stroke-width": (0.5 + 2.5 * value).toFixed(1) }));
  };
  draw(null);
  const node = drawing(left + gap + 126, height, "Attention as lines from the tokens on the left to those on the right", beams,
    stack.queries.map((token, row) => s("text", { x: left - 6, y: top + (row + 0.72) * step, "text-anchor": "end", class: "token", "font-size": step - 4, tabindex: 0, onmouseenter: () => draw(row), onmouseleave: () => draw(null), onfocus: () => draw(row), onblur: () => draw(null) }, shorten(token, 13))),
    stack.keys.map((token, column) => s("text", { x: left + gap + 6, y: top + (column + 0.72) * step, class: "token", "font-size": step - 4 }, shorten(token, 13))));
  return node;
}

// All heads' maps of one text, small, in the grid's order.
export async function wall(study, maps, open, room) {
  const parts = [];
  for (const stack of maps.stacks) {
    const [layers, heads, rows, columns] = stack.shape;
    const found = study.stacks.find((one) => one.stack === stack.stack);
    const tile = Math.max(18, Math.min(72, Math.floor(room / heads) - 4));
    const left = 34, top = maps.stacks.length > 1 ? 40 : 20;
    const width = left + heads * (tile + 4), height = top + layers * (tile + 4);
    const canvas = h("canvas", { width: width * 2, height: height * 2, class: "wall", role: "img", "aria-label": `The attention maps of all heads, ${stack.stack}` });
    canvas.style.maxWidth = `${width}px`;
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.imageSmoothingEnabled = rows > tile; // few tokens are squares, many are shrunk
    const ink = getComputedStyle(document.body).color;
    context.fillStyle = ink;
    context.font = "11px sans-serif";
    if (maps.stacks.length > 1) context.fillText(stack.stack, 0, 14);
    for (let head = 0; head < heads; head++) context.fillText(`H${head}`, left + head * (tile + 4) + tile / 2 - 8, top - 6);
    for (let number = 0; number < layers; number++) {
      context.fillStyle = ink;
      context.fillText(`L${number}`, 2, top + number * (tile + 4) + tile / 2 + 4);
      const bytes = await layer(stack, number);
      for (let head = 0; head < heads; head++) {
        const there = !found || found.layers[number]?.includes(head);
        const x = left + head * (tile + 4), y = top + number * (tile + 4);
        if (there) context.drawImage(picture(bytes, head * rows * columns, rows, columns), x, y, tile, tile);
        context.strokeStyle = "rgba(128,128,128,0.5)";
        context.setLineDash(there ? [] : [2, 2]);
        context.strokeRect(x + 0.5, y + 0.5, tile - 1, tile - 1);
      }
    }
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * width, y = ((event.clientY - box.top) / box.height) * height;
      const head = Math.floor((x - left) / (tile + 4)), number = Math.floor((y - top) / (tile + 4));
      const place = study.heads.findIndex((one) => one[0] === stack.stack && one[1] === number && one[2] === head);
      if (place >= 0) open(place);
    });
    parts.push(canvas);
  }
  return h("div", { class: "walls" }, parts);
}
