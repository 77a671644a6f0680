// The score without each whole layer.

import { extent } from "d3-array";
import { scaleBand } from "d3-scale";
import { EDGE, plot } from "./axes.js";
import { s } from "./dom.js";
import { figure } from "./download.js";
import { LEVEL, plain, signed } from "./format.js";
import { linear, wide } from "./scales.js";

export function layers(one) {
  if (one.baseline === null) return null;
  const rows = one.rows;
  const x = scaleBand(
    rows.map((row) => row.layer),
    [0, 1],
  ).padding(0.2);
  const width = Math.max(540, Math.min(1100, 90 + rows.length * 34));
  const y = linear(
    wide(extent(rows.flatMap((row) => [one.baseline + row.low, one.baseline + row.high, one.baseline]))),
  ).nice();
  const { ran, given } = one.patched ?? {};
  const [label, across, title, caption] = one.patched
    ? [
        `${one.metric} with each layer of the ${given} input`,
        `layer of the ${given} input`,
        `A whole layer of the ${given} input`,
        `${one.metric} on the ${ran} input with all heads of a layer from the ${given} one`,
      ]
    : [
        `${one.metric} without each layer`,
        "layer left out",
        "Without a whole layer",
        `${one.metric} without all heads of a layer`,
      ];
  const { node, inside } = plot(width, 260, label, x, y, [across, one.metric]);
  inside.append(
    s("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(one.baseline), y2: y(one.baseline), class: "baseline" }),
  );
  for (const row of rows) {
    const middle = x(row.layer) + x.bandwidth() / 2;
    inside.append(
      s(
        "rect",
        {
          x: x(row.layer),
          width: x.bandwidth(),
          y: Math.min(y(row.score), y(one.baseline)),
          height: Math.max(0.5, Math.abs(y(row.score) - y(one.baseline))),
          class: row.delta < 0 === one.higher ? "bar-down" : "bar-up",
        },
        s(
          "title",
          {},
          `${row.layer}: ${plain(row.score)} (${signed(row.delta)} ` +
            `[${signed(row.low)}, ${signed(row.high)}], q = ${plain(row.q)})`,
        ),
      ),
      s("line", {
        x1: middle,
        x2: middle,
        y1: y(one.baseline + row.low),
        y2: y(one.baseline + row.high),
        class: "whisker",
      }),
    );
    if (row.q !== null && row.q < LEVEL)
      inside.append(s("text", { x: middle, y: EDGE.top + 8, "text-anchor": "middle", class: "name" }, "●"));
  }
  return figure(
    title,
    `${caption[0].toUpperCase()}${caption.slice(1)}, as bars from the baseline (${plain(one.baseline)}, the line), ` +
      `with 95 % intervals; ● significant (q < ${LEVEL})${one.patched ? "" : " (Kovaleva et al. 2019, Figure 9)"}.`,
    node,
    { rows: () => rows },
  );
}
