// A plot's frame: two axes with their names, and room for what is drawn in it.
import { axisBottom, axisLeft } from "d3-axis";
import { select } from "d3-selection";
import { drawing, s } from "./dom.js";

export const EDGE = { left: 64, right: 14, top: 12, bottom: 42 };

// A name as long as its axis, at about 6.6 of its letters' units each; the whole of it when it is pointed at.
function fitting(name, room) {
  const most = Math.floor(room / 6.6);
  return name.length <= most ? name : [`${name.slice(0, most - 1)}…`, s("title", {}, name)];
}

// `format` is one of d3's, or the names of places 0, 1, ...
function marked(axis, ticks, format) {
  if (!Array.isArray(format)) return axis.ticks(ticks, format).tickSizeOuter(0);
  return axis
    .tickValues(format.map((_, at) => at))
    .tickFormat((at) => format[at])
    .tickSizeOuter(0);
}

// `edge`: the room around what is drawn, where names need more of it.
export function plot(
  width,
  height,
  label,
  x,
  y,
  names,
  { xTicks = 6, yTicks = 5, xFormat, yFormat, edge = EDGE } = {},
) {
  x.range([edge.left, width - edge.right]);
  y.range([height - edge.bottom, edge.top]);
  const across = s("g", { class: "axis", transform: `translate(0,${height - edge.bottom})` });
  const up = s("g", { class: "axis", transform: `translate(${edge.left},0)` });
  select(across).call(marked(axisBottom(x), xTicks, xFormat));
  select(up).call(marked(axisLeft(y), yTicks, yFormat));
  const inside = s("g", {});
  const [long, high] = [width - edge.left - edge.right, height - edge.bottom - edge.top];
  const node = drawing(
    width,
    height,
    label,
    across,
    up,
    s(
      "text",
      { x: (edge.left + width - edge.right) / 2, y: height - 6, "text-anchor": "middle", class: "name" },
      fitting(names[0], long),
    ),
    s(
      "text",
      {
        x: 12,
        y: (height - edge.bottom + edge.top) / 2,
        "text-anchor": "middle",
        class: "name",
        transform: `rotate(-90 12 ${(height - edge.bottom + edge.top) / 2})`,
      },
      fitting(names[1], high),
    ),
    inside,
  );
  return { node, inside };
}
