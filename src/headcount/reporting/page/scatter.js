// One colouring against another, a point for each head.

import { extent } from "d3-array";
import { EDGE, plot } from "./axes.js";
import { colours } from "./colour.js";
import { s } from "./dom.js";
import { figure } from "./download.js";
import { plain, sure } from "./format.js";
import { spearman } from "./rank_correlation.js";
import { linear, wide } from "./scales.js";

export function scatter(study, first, second, { open, hover, matches, chosen }) {
  const points = study.heads
    .map((head, index) => ({ index, name: head[3], x: first.values[index], y: second.values[index] }))
    .filter((point) => point.x !== null && point.y !== null);
  if (!points.length || first.kind === "category" || second.kind === "category") return null;
  const x = linear(wide(extent(points, (point) => point.x)));
  const y = linear(wide(extent(points, (point) => point.y)));
  const scale = colours(first);
  const { node, inside } = plot(460, 340, `${second.title} against ${first.title}`, x, y, [first.title, second.title]);
  for (const [colouring, axis, across] of [
    [first, x, true],
    [second, y, false],
  ])
    if (colouring.kind === "diverging")
      inside.append(
        across
          ? s("line", { x1: axis(0), x2: axis(0), y1: EDGE.top, y2: 340 - EDGE.bottom, class: "zero" })
          : s("line", { y1: axis(0), y2: axis(0), x1: EDGE.left, x2: 460 - EDGE.right, class: "zero" }),
      );
  for (const point of points)
    inside.append(
      s("circle", {
        cx: x(point.x),
        cy: y(point.y),
        r: sure(first, point.index) ? 5.5 : 4,
        fill: scale.of(point.x),
        "data-point": point.index,
        class: [
          "dot",
          sure(first, point.index) && "sure",
          !matches(point.index) && "dimmed",
          point.index === chosen && "chosen",
        ]
          .filter(Boolean)
          .join(" "),
        onclick: () => open(point.index),
        onmouseenter: (event) => hover(point.index, event),
        onmouseleave: () => hover(null),
      }),
    );
  const rows = () => points.map((point) => ({ head: point.name, [first.title]: point.x, [second.title]: point.y }));
  return figure(
    "One against the other",
    `Each point is a head; rank correlation ${plain(spearman(points), 2)} over ${points.length} heads.`,
    node,
    { rows, level: "h3" },
  );
}
