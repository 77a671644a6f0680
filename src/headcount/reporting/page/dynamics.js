// When the order of heads settles along a training.

import { extent, min } from "d3-array";
import { area, line } from "d3-shape";
import { EDGE, plot } from "./axes.js";
import { colours, OF_ORDER } from "./colour.js";
import { drawing, h, s } from "./dom.js";
import { figure } from "./download.js";
import { label, plain } from "./format.js";
import { linear } from "./scales.js";

export function dynamics(one) {
  const x = linear(extent(one.checkpoints));
  const y = linear([
    Math.min(0, min([...one.agreement, ...one.low, ...(one.stability ?? [])].filter((value) => value !== null))),
    1,
  ]);
  const { agreement, checkpoint } = one.said;
  const { node, inside } = plot(480, 260, agreement.title, x, y, [label(checkpoint), agreement.unit]);
  const band = one.checkpoints.map((step, at) => [
    step,
    one.low[at] ?? one.agreement[at],
    one.high[at] ?? one.agreement[at],
  ]);
  inside.append(
    s("path", {
      d: area(
        (point) => x(point[0]),
        (point) => y(point[1]),
        (point) => y(point[2]),
      )(band),
      fill: OF_ORDER[0],
      opacity: 0.18,
    }),
    s("path", {
      d: line(
        (point) => x(point[0]),
        (point) => y(point[1]),
      )(one.checkpoints.map((step, at) => [step, one.agreement[at]])),
      stroke: OF_ORDER[0],
      class: "curve",
    }),
    s("line", { x1: EDGE.left, x2: 480 - EDGE.right, y1: y(one.settled), y2: y(one.settled), class: "baseline thin" }),
  );
  if (one.stability)
    inside.append(
      s("path", {
        d: line(
          (point) => x(point[0]),
          (point) => y(point[1]),
        )(one.checkpoints.map((step, at) => [step, one.stability[at]])),
        stroke: OF_ORDER[1],
        class: "curve",
        "stroke-dasharray": "1 4",
      }),
    );
  return h(
    "div",
    { class: "pair" },
    figure(
      "When the order of heads settles",
      (one.gates
        ? "Rank correlation of the learned gates at each checkpoint with those at the last; the dashed line is " +
          `${one.settled}.`
        : "Rank correlation of the importance at each checkpoint with that at the last; the dashed line is " +
          `${one.settled} (Michel et al. 2019, Figure 5).`) +
        (one.stability
          ? " Dotted: the same between two halves of the examples at one step. Where it is low, more examples are needed."
          : ""),
      node,
      { rows: () => rowsOf(one), level: "h3" },
    ),
    one.score
      ? figure(
          `${one.metric} during training`,
          "A row for each checkpoint, with fewer heads from left to right; bright is high.",
          scoreMap(one),
          { rows: () => rowsOf(one), level: "h3" },
        )
      : null,
  );
}

function rowsOf(one) {
  return one.checkpoints.flatMap((step, row) =>
    one.score
      ? one.removed.map((count, at) => ({
          step,
          gone: count,
          score: one.score[row][at],
          agreement: one.agreement[row],
        }))
      : [{ step, agreement: one.agreement[row], stability: one.stability[row] }],
  );
}

// The score of each checkpoint, a row for each, with fewer and fewer heads.
function scoreMap(one) {
  const { removed } = one.said;
  const size = 26,
    left = 70,
    top = 30;
  const scores = one.score.flat().filter((value) => value !== null);
  const scale = colours({ kind: "sequential", values: [...scores, ...one.baseline], unit: "" });
  return drawing(
    Math.max(left + 160, left + (one.removed.length + 1) * size + 24),
    top + one.checkpoints.length * size + 6,
    `${one.metric} by step and heads gone`,
    s("text", { x: left, y: 12, class: "name" }, `${removed.title} (share)`),
    [0, ...one.removed].map((count, at) =>
      at % 2
        ? null
        : s(
            "text",
            { x: left + (at + 0.5) * size, y: 26, "text-anchor": "middle", class: "tick" },
            `${Math.round((100 * count) / one.heads)}%`,
          ),
    ),
    one.checkpoints.map((step, row) => [
      s("text", { x: left - 6, y: top + (row + 0.65) * size, "text-anchor": "end", class: "tick" }, step),
      [one.baseline[row], ...one.score[row]].map((value, at) =>
        s(
          "rect",
          {
            x: left + at * size,
            y: top + row * size,
            width: size - 1,
            height: size - 1,
            fill: value === null ? "none" : scale.of(value),
          },
          s("title", {}, `step ${step}, ${at ? one.removed[at - 1] : 0} heads gone: ${plain(value)}`),
        ),
      ),
    ]),
  );
}
