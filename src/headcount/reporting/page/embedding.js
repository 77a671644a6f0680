// Heads as points: near ones have similar maps.

import { extent } from "d3-array";
import { plot } from "./axes.js";
import { colours, setLight } from "./colour.js";
import { s } from "./dom.js";
import { figure } from "./download.js";
import { cellOf, plain } from "./format.js";
import { lasso } from "./lasso.js";
import { linear, wide } from "./scales.js";

export function embedding(study, colouring, { open, hover, chosen, choose }) {
  const { x: left, y: up, facts } = study.embedding;
  const points = study.heads
    .map((head, index) => ({ index, name: head[3], layer: head[1], x: left[index], y: up[index] }))
    .filter((point) => point.x !== null);
  if (!points.length) return null;
  const x = linear(wide(extent(points, (point) => point.x)));
  const y = linear(wide(extent(points, (point) => point.y)));
  const scale = colours(colouring);
  const white = colours(colouring, { dark: false });
  const { node, inside } = plot(540, 420, "Heads as points", x, y, ["near points: heads with like maps", ""], {
    xTicks: 0,
    yTicks: 0,
  });
  for (const point of points) {
    const value = colouring.values[point.index];
    inside.append(
      setLight(
        s("circle", {
          cx: x(point.x),
          cy: y(point.y),
          r: 5,
          fill: value === null ? "none" : scale.of(value),
          class: `dot${point.index === chosen ? " chosen" : ""}`,
          "data-point": point.index,
          onclick: () => open(point.index),
          onmouseenter: (event) => hover(point.index, event),
          onmouseleave: () => hover(null),
        }),
        () => (value === null ? {} : { fill: white.of(value) }),
      ),
    );
  }
  if (choose)
    lasso(
      node,
      points.map((point) => ({ index: point.index, x: x(point.x), y: y(point.y) })),
      choose,
    );
  const said = facts
    .filter((fact) => fact.p !== null)
    .map(
      (fact) =>
        `Heads of one layer are ${plain(fact.within)} nats apart, ` +
        `of different layers ${plain(fact.between)} (${fact.stack}, p = ${plain(fact.p)}).`,
    );
  return figure(
    "Which heads are similar",
    [
      "Distances between the maps of heads, laid out in the plane and coloured like the grid. Draw a line around some to keep them.",
      ...said,
    ].join(" "),
    node,
    {
      rows: () =>
        points.map((point) => ({
          head: point.name,
          x: point.x,
          y: point.y,
          [colouring.title]: cellOf(colouring, point.index),
        })),
    },
  );
}
