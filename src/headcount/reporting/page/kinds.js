// How many heads there are of each kind.

import { max } from "d3-array";
import { scaleBand } from "d3-scale";
import { colours } from "./colour.js";
import { drawing, s } from "./dom.js";
import { figure } from "./download.js";
import { linear } from "./scales.js";

export function kinds(colouring) {
  const counts = colouring.names.map((name, kind) => ({
    name,
    count: colouring.values.filter((value) => value === kind).length,
    kind,
  }));
  const x = linear([0, max(counts, (one) => one.count)]).nice();
  const y = scaleBand(
    counts.map((one) => one.name),
    [0, 1],
  ).padding(0.2);
  const height = 60 + counts.length * 24,
    width = 520,
    left = 180;
  x.range([left, width - 40]);
  y.range([6, height - 46]);
  const scale = colours(colouring);
  const node = drawing(
    width,
    height,
    colouring.title,
    counts.map((one) => [
      s("text", { x: left - 8, y: y(one.name) + y.bandwidth() / 2 + 4, "text-anchor": "end", class: "name" }, one.name),
      s("rect", {
        x: left,
        y: y(one.name),
        width: Math.max(1, x(one.count) - left),
        height: y.bandwidth(),
        fill: scale.of(one.kind),
      }),
      s("text", { x: x(one.count) + 6, y: y(one.name) + y.bandwidth() / 2 + 4, class: "name" }, one.count),
    ]),
  );
  node.setAttribute("viewBox", `0 0 ${width} ${height - 40}`);
  node.setAttribute("height", height - 40);
  return figure(`How many heads: ${colouring.title.toLowerCase()}`, `${colouring.says}.`, node, {
    rows: () => counts.map(({ name, count }) => ({ kind: name, heads: count })),
  });
}
