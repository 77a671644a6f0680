// Marks for a value and for what it is compared with: each baseline has a shape and a colour of its own.
import { symbol, symbolCross, symbolDiamond, symbolSquare, symbolTriangle, symbolWye } from "d3-shape";
import { OF_ORDER } from "./colour.js";
import { s } from "./dom.js";

const SHAPES = [symbolDiamond, symbolTriangle, symbolSquare, symbolCross, symbolWye];

export const dot = (x, y) => s("circle", { cx: x, cy: y, r: 4.5, fill: OF_ORDER[0] });

// The first is a tick, which stays visible behind every other mark.
export function mark(number, x, y) {
  const fill = OF_ORDER[1 + (number % (OF_ORDER.length - 1))];
  if (!number) return s("rect", { x: x - 1.5, y: y - 8, width: 3, height: 16, fill, class: "mark" });
  const d = symbol(SHAPES[(number - 1) % SHAPES.length], 46)();
  return s("path", { d, transform: `translate(${x},${y})`, fill, class: "mark" });
}

export const key = (...shapes) =>
  s("svg", { viewBox: "-8 -8 16 16", width: 16, height: 16, "aria-hidden": "true", class: "swatch" }, shapes);
