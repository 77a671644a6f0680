// A value with its interval and what it is compared with, on one line of a table.
import { s } from "./dom.js";
import { dot, mark } from "./marks.js";

export const WIDTH = 460;
const HEIGHT = 22;

export const spread = ([value, low, high], write) =>
  write(value) + (low === null || high === null ? "" : ` [${write(low)}, ${write(high)}]`);

const ticks = (x) => x.ticks(5);

const frame = (height, ...children) =>
  s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, class: "row-drawing" }, children);

export function axis(x) {
  const node = frame(
    14,
    ticks(x).map((at) => s("text", { x: x(at), y: 11, "text-anchor": "middle", class: "tick" }, at)),
  );
  node.setAttribute("aria-hidden", "true");
  return node;
}

export function rowDrawing(x, [value, low, high], others, said) {
  const y = HEIGHT / 2;
  const node = frame(
    HEIGHT,
    s("title", {}, said.join("\n")),
    ticks(x).map((at) => s("line", { x1: x(at), x2: x(at), y1: 0, y2: HEIGHT, class: "zero" })),
    others.map((other, number) => (other === null ? null : mark(number, x(other), y))),
    low === null ? null : s("line", { x1: x(low), x2: x(high), y1: y, y2: y, class: "whisker" }),
    dot(x(value), y),
  );
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", said.join(", "));
  return node;
}
