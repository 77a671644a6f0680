// How often each score occurs when one head is left out.

import { bin, extent, max } from "d3-array";
import { EDGE, plot } from "./axes.js";
import { s } from "./dom.js";
import { figure } from "./download.js";
import { plain } from "./format.js";
import { linear, wide } from "./scales.js";

export function histogram(study, colouring) {
  if (!colouring?.effect || colouring.baseline === null) return null;
  const scores = colouring.values.filter((value) => value !== null).map((value) => value + colouring.baseline);
  if (!scores.length) return null;
  const x = linear(wide(extent([...scores, colouring.baseline]), 0.08)).nice();
  const bins = bin().domain(x.domain()).thresholds(x.ticks(24))(scores);
  const most = max(bins, (one) => one.length);
  const y = linear([0, most]).nice();
  const { node, inside } = plot(
    540,
    260,
    `Histogram of ${colouring.unit} without one head`,
    x,
    y,
    [`${colouring.unit} without the head`, "heads"],
    { yTicks: Math.min(5, most), yFormat: "d" },
  );
  for (const one of bins)
    if (one.length)
      inside.append(
        s("rect", {
          x: x(one.x0) + 0.5,
          width: Math.max(1, x(one.x1) - x(one.x0) - 1),
          y: y(one.length),
          height: y(0) - y(one.length),
          class: "bar-fill",
        }),
      );
  inside.append(
    s("line", {
      x1: x(colouring.baseline),
      x2: x(colouring.baseline),
      y1: EDGE.top,
      y2: 260 - EDGE.bottom,
      class: "baseline",
    }),
    s(
      "text",
      {
        x: x(colouring.baseline) + (x(colouring.baseline) > 360 ? -6 : 6),
        y: EDGE.top + 12,
        "text-anchor": x(colouring.baseline) > 360 ? "end" : "start",
        class: "name",
      },
      `baseline ${plain(colouring.baseline)}`,
    ),
  );
  return figure(
    "Scores without one head",
    `How often each score occurs when one of ${scores.length} heads is left out (Michel et al. 2019, Figure 1).`,
    node,
    {
      rows: () =>
        study.heads.map((head, index) => ({
          head: head[3],
          score: colouring.values[index] === null ? null : colouring.values[index] + colouring.baseline,
        })),
    },
  );
}
