// A map of attention between tokens as a picture: with its tokens, a crosshair, a zoom and a scale of colours.

import { enlarge } from "./blocks.js";
import { isDark, setLight } from "./colour.js";
import { drawing, h, s } from "./dom.js";
import { plain, shorten, signed } from "./format.js";
import { CHANGES, isCausal, strongest, tableOf, unseenColour, WEIGHTS } from "./shades.js";
import { layer } from "./unpack.js";

// `causal`: whether what stands above the diagonal cannot be seen.
export function picture(bytes, offset, rows, columns, { dark = isDark(), shades = WEIGHTS, causal = false } = {}) {
  const canvas = h("canvas", { width: columns, height: rows });
  const paint = (onDark) => paintMap(canvas, bytes, offset, { dark: onDark, shades, causal });
  paint(dark);
  painters.set(canvas, paint);
  return canvas;
}

// How a picture is painted again, as for white paper.
const painters = new WeakMap();
export const repaint = (canvas, dark) => painters.get(canvas)?.(dark);

function paintMap(canvas, bytes, offset, { dark, shades, causal }) {
  const { width: columns, height: rows } = canvas;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const table = tableOf(shades, dark);
  for (let at = 0; at < pixels.length; at++) pixels[at] = table[bytes[offset + at]];
  if (causal) {
    const [red, green, blue] = unseenColour(dark);
    const grey = (255 << 24) | (blue << 16) | (green << 8) | red;
    for (let row = 0; row < rows; row++)
      for (let column = row + 1; column < columns; column++) pixels[row * columns + column] = grey;
  }
  context.putImageData(image, 0, 0);
}

// A small picture of a whole map, with what cannot be seen in grey.
export function smallMap(bytes, { rows, columns, found }) {
  const canvas = picture(bytes, 0, rows, columns, { causal: found.causal });
  canvas.className = rows > 180 ? "" : "pixels";
  return canvas;
}

// A picture in a drawing, light in its downloads.
export function mapImage(attributes, bytes, offset, rows, columns, shades = WEIGHTS) {
  const image = s("image", {
    ...attributes,
    preserveAspectRatio: "none",
    class: "pixels",
    href: picture(bytes, offset, rows, columns, { shades }).toDataURL(),
  });
  return setLight(image, () => ({
    href: picture(bytes, offset, rows, columns, { dark: false, shades }).toDataURL(),
  }));
}

// Which colour is which weight: shades go by the square root, so that small weights stay visible.
export function mapScale(shades = WEIGHTS) {
  const ramp = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const x = (value) => 86 + 256 * shades.at(value);
  const node = drawing(
    400,
    32,
    shades === CHANGES ? "Colours of changes from -1 to 1" : "Colours of weights from 0 to 1, by their square roots",
    s("text", { x: 78, y: 12, "text-anchor": "end", class: "tick" }, shades.name),
    mapImage({ x: 86, y: 2, width: 256, height: 12 }, ramp, 0, 1, 256, shades),
    shades.ticks.map((value) =>
      s("text", { x: x(value), y: 27, "text-anchor": "middle", class: "tick" }, String(value).replace("-", "−")),
    ),
  );
  node.classList.add("map-scale");
  return node;
}

// The bytes of one head's map.
export async function headBytes(stack, layerNumber, head) {
  const bytes = await layer(stack, layerNumber);
  const [, , rows, columns] = stack.shape;
  return bytes.subarray(head * rows * columns, (head + 1) * rows * columns);
}

const ROOM = 560,
  MOST = 22,
  LETTERS = 13;

// How much room the longest of some labels takes.
const labelRoom = (tokens, font) =>
  Math.ceil(
    12 + Math.min(0.62 * font * Math.max(1, ...tokens.map((token) => shorten(token, LETTERS).length)), 8.6 * font),
  );

// What stands above the diagonal in a part of a causal map, in squares of a side: its rows [x, y, width].
export function unseenRows({ top, left, height, width }, side) {
  return Array.from({ length: height }, (_, row) => [Math.max(0, top + row + 1 - left), row])
    .filter(([first]) => first < width)
    .map(([first, row]) => [first * side, row * side, (width - first) * side]);
}

// Slanted lines over such rows; squares that are too small for them are grey alone.
export function hatching(rows, side, apart = 8) {
  if (side < 4) return "";
  const lines = [];
  for (const [x, y, width] of rows)
    for (let sum = Math.ceil((x + y) / apart) * apart; sum < x + width + y + side; sum += apart) {
      const [start, end] = [Math.max(y, sum - x - width), Math.min(y + side, sum - x)];
      if (end > start) lines.push(`M${sum - start},${start}L${sum - end},${end}`);
    }
  return lines.join("");
}

// `outlines`: rectangles in cells [row, column, rows, columns]; `choose` is called with the cell that is clicked.
// `told` says in words what is pointed at; `causal`: whether a token cannot see later ones. Gives a node that redraws itself when it is zoomed.
export function tokenMap(
  bytes,
  queries,
  keys,
  told,
  {
    outlines = [],
    choose = null,
    shades = WEIGHTS,
    room = ROOM,
    causal = isCausal(bytes, queries.length, keys.length),
  } = {},
) {
  const [rows, columns] = [queries.length, keys.length];
  const container = h("div", { class: "token-map" });
  let part = { bytes, top: 0, left: 0, height: rows, width: columns };
  let at = [0, 0];
  const write = shades === CHANGES ? signed : plain;
  const tell = (row, column) => {
    told.textContent = `${queries[row]} → ${keys[column]}: ${write(shades.read(bytes[row * columns + column]))}`;
  };
  const zoomTo = (top, left, height, width) => {
    part = { bytes: cut(bytes, columns, top, left, height, width), top, left, height, width };
    draw();
  };
  const zoom = (factor) => {
    const side = Math.round(Math.max(part.height, part.width) * factor);
    if (side >= Math.max(rows, columns)) return zoomTo(0, 0, rows, columns);
    const size = Math.max(4, side);
    const near = enlarge(bytes, 0, [rows, columns], at[0], at[1], size);
    return zoomTo(near.top, near.left, near.height, near.width);
  };
  const button = (text, name, work) =>
    h("button", { type: "button", class: "small", "aria-label": name, onclick: work }, text);
  const tools = h(
    "div",
    { class: "map-tools" },
    button("+", "Zoom into the map", () => zoom(0.5)),
    button("−", "Zoom out of the map", () => zoom(2)),
    button("Whole map", "Show the whole map", () => zoomTo(0, 0, rows, columns)),
    h("span", { class: "quiet" }, "Drag over the map to enlarge a part."),
  );
  const holder = h("div", {});

  function draw() {
    const longest = Math.max(part.height, part.width);
    const side = Math.min(MOST, longest > room ? room / longest : Math.floor(room / longest));
    const every = Math.max(1, Math.ceil(8.5 / side));
    const font = Math.min(11, Math.max(8, side));
    const [left, top] = [
      Math.max(78, labelRoom(queries.slice(part.top, part.top + part.height), font)),
      labelRoom(keys.slice(part.left, part.left + part.width), font),
    ];
    const hidden = causal ? unseenRows(part, side) : [];
    const [width, height] = [left + part.width * side + 6, top + part.height * side + 6];
    const labels = (tokens, start, count, make) =>
      Array.from({ length: count }, (_, place) =>
        place % every ? null : make(shorten(tokens[start + place], LETTERS), place, tokens[start + place]),
      );
    const rowLabels = labels(queries, part.top, part.height, (text, row) =>
      s(
        "text",
        {
          x: left - 5,
          y: top + (row + 0.5) * side + font / 3,
          "text-anchor": "end",
          class: "token",
          "font-size": font,
        },
        text,
      ),
    );
    const columnLabels = labels(keys, part.left, part.width, (text, column) =>
      s(
        "text",
        {
          transform: `translate(${left + (column + 0.5) * side + font / 3},${top - 5}) rotate(-90)`,
          class: "token",
          "font-size": font,
        },
        text,
      ),
    );
    const cross = s(
      "g",
      { class: "crosshair", hidden: true },
      s("rect", { x: left, width: part.width * side, height: side }),
      s("rect", { y: top, width: side, height: part.height * side }),
    );
    const node = drawing(
      width,
      height,
      `Attention map: from the tokens on the left to the tokens above${shades === CHANGES ? ", change" : ""}`,
      rowLabels,
      columnLabels,
      mapImage(
        { x: left, y: top, width: part.width * side, height: part.height * side },
        part.bytes,
        0,
        part.height,
        part.width,
        shades,
      ),
      causal
        ? [
            s("path", {
              class: "unseen",
              d: hidden.map(([x, y, wide]) => `M${left + x},${top + y}h${wide}v${side}h${-wide}z`).join(""),
            }),
            s("path", { class: "hatch", transform: `translate(${left},${top})`, d: hatching(hidden, side) }),
          ]
        : null,
      outlines.map(([row, column, high, wide]) =>
        s("rect", {
          x: left + (column - part.left) * side,
          y: top + (row - part.top) * side,
          width: wide * side,
          height: high * side,
          class: "outline",
        }),
      ),
      cross,
    );
    node.setAttribute("tabindex", 0);
    const under = (event) => {
      const pointer = new DOMPoint(event.clientX, event.clientY).matrixTransform(node.getScreenCTM().inverse());
      const [column, row] = [Math.floor((pointer.x - left) / side), Math.floor((pointer.y - top) / side)];
      const inside = row >= 0 && row < part.height && column >= 0 && column < part.width;
      return inside ? [row + part.top, column + part.left] : null;
    };
    const point = (cell) => {
      cross.toggleAttribute("hidden", !cell);
      for (const one of node.querySelectorAll(".token.pointed")) one.classList.remove("pointed");
      if (!cell) {
        told.textContent = "";
        return;
      }
      at = cell;
      cross.children[0].setAttribute("y", top + (cell[0] - part.top) * side);
      cross.children[1].setAttribute("x", left + (cell[1] - part.left) * side);
      rowLabels[cell[0] - part.top]?.classList.add("pointed");
      columnLabels[cell[1] - part.left]?.classList.add("pointed");
      tell(...cell);
    };
    let from = null;
    node.addEventListener("mousemove", (event) => {
      point(under(event));
    });
    node.addEventListener("mouseleave", () => point(null));
    node.addEventListener("pointerdown", (event) => {
      from = under(event);
    });
    node.addEventListener("pointerup", (event) => {
      const to = under(event);
      const [start, drawn] = [from, from && to && (Math.abs(from[0] - to[0]) > 1 || Math.abs(from[1] - to[1]) > 1)];
      from = null;
      if (!drawn) return;
      const [up, down] = [Math.min(start[0], to[0]), Math.max(start[0], to[0])];
      const [west, east] = [Math.min(start[1], to[1]), Math.max(start[1], to[1])];
      zoomTo(up, west, down - up + 1, east - west + 1);
    });
    node.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const within = (value, start, count) => Math.max(start, Math.min(start + count - 1, value));
      point([within(at[0] + step[0], part.top, part.height), within(at[1] + step[1], part.left, part.width)]);
    });
    if (choose) {
      node.classList.add("choosable");
      node.addEventListener("click", (event) => {
        const cell = under(event);
        if (cell) choose(...cell);
      });
    }
    holder.replaceChildren(node);
  }
  draw();
  container.append(
    holder,
    mapScale(shades),
    tools,
    causal ? h("p", { class: "quiet" }, "Hatched: later tokens, which the head cannot see.") : "",
    inWords(bytes, queries, keys, write, shades),
  );
  return container;
}

function cut(bytes, columns, top, left, height, width) {
  const found = new Uint8Array(height * width);
  for (let row = 0; row < height; row++) {
    const start = (top + row) * columns + left;
    found.set(bytes.subarray(start, start + width), row * width);
  }
  return found;
}

// The same in words, for those who do not see the picture: where each token looks most.
function inWords(bytes, queries, keys, write, shades) {
  const node = h("details", { class: "in-words" }, h("summary", {}, "In words: where each token looks most"));
  node.addEventListener(
    "toggle",
    () =>
      node.append(
        h(
          "ul",
          {},
          strongest(bytes, queries.length, keys.length, shades.read).map(([row, column, value]) =>
            h("li", {}, `${queries[row]} → ${keys[column]}: ${write(value)}`),
          ),
        ),
      ),
    { once: true },
  );
  return node;
}
