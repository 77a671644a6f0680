// One number against another, a point for each head; kinds stand in rows of their own.

import { extent } from "d3-array";
import { EDGE, plot } from "./axes.js";
import { colours, setLight } from "./colour.js";
import { h, s } from "./dom.js";
import { figure } from "./download.js";
import { cellOf, plain, shorten, shown, sure } from "./format.js";
import { lasso } from "./lasso.js";
import { spearman } from "./rank_correlation.js";
import { linear, wide } from "./scales.js";

const [WIDTH, HEIGHT, LONGEST] = [520, 380, 28];

const isKind = (colouring) => colouring.kind === "category";
const long = (name) => Math.min(name.length, LONGEST);

const scaleOf = (colouring, values) =>
  linear(isKind(colouring) ? [-0.6, colouring.names.length - 0.4] : wide(extent(values)));

// `choose(indices)`: the heads inside a line that is drawn around them.
export function scatter(study, first, second, { open, hover, matches, chosen, choose }) {
  // Kinds stand below each other, where there is room for their names.
  const [across, up] = isKind(first) && !isKind(second) ? [second, first] : [first, second];
  const points = study.heads
    .map((head, index) => ({ index, name: head[3], x: across.values[index], y: up.values[index] }))
    .filter((point) => point.x !== null && point.y !== null);
  if (!points.length) return h("p", { class: "quiet" }, `No head has both: ${first.title}, and ${second.title}.`);
  const kinds = [across, up].map(isKind);
  const x = scaleOf(
    across,
    points.map((point) => point.x),
  );
  const y = scaleOf(
    up,
    points.map((point) => point.y),
  );
  // In the order of the legend, from the top.
  if (kinds[1]) y.domain([...y.domain()].reverse());
  const scale = colours(first);
  const white = colours(first, { dark: false });
  const edge = kinds[1] ? { ...EDGE, left: 24 + Math.max(40, ...up.names.map((name) => 6.2 * long(name))) } : EDGE;
  const { node, inside } = plot(
    WIDTH,
    HEIGHT,
    `${second.title} against ${first.title}`,
    x,
    y,
    [across.title, kinds[1] ? "" : up.title],
    {
      xFormat: kinds[0] ? across.names.map((name) => shorten(name, 8)) : undefined,
      yFormat: kinds[1] ? up.names.map((name) => shorten(name, LONGEST)) : undefined,
      edge,
    },
  );
  for (const [colouring, axis, standing] of [
    [across, x, true],
    [up, y, false],
  ])
    if (colouring.kind === "diverging") {
      const at = axis(colouring.centre ?? 0);
      inside.append(
        standing
          ? s("line", { x1: at, x2: at, y1: edge.top, y2: HEIGHT - edge.bottom, class: "zero" })
          : s("line", { y1: at, y2: at, x1: edge.left, x2: WIDTH - edge.right, class: "zero" }),
      );
    }
  // Heads of one kind would lie on each other: a little to the side, each always by as much.
  const apart = (point, axis) => 0.5 * (((point.index * 0.618) % 1) - 0.5) * Math.abs(axis(1) - axis(0));
  const placed = points.map((point) => ({
    ...point,
    cx: x(point.x) + (kinds[0] ? apart(point, x) : 0),
    cy: y(point.y) + (kinds[1] ? apart(point, y) : 0),
  }));
  for (const point of placed)
    inside.append(
      setLight(
        s("circle", {
          cx: point.cx,
          cy: point.cy,
          r: sure(first, point.index) ? 5.5 : 4,
          fill: scale.of(first.values[point.index]),
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
        () => ({ fill: white.of(first.values[point.index]) }),
      ),
    );
  if (choose)
    lasso(
      node,
      placed.map(({ index, cx, cy }) => ({ index, x: cx, y: cy })),
      choose,
    );
  const rows = () =>
    points.map((point) => ({
      head: point.name,
      [first.title]: cellOf(first, point.index),
      [second.title]: cellOf(second, point.index),
    }));
  const told = kinds.some(Boolean)
    ? "Each point is a head."
    : `Each point is a head; rank correlation ${plain(spearman(points), 2)} over ${points.length} heads.`;
  return figure(
    "One against the other",
    `${told}${choose ? " Draw a line around some to keep them in the table." : ""}`,
    h("div", {}, node, inWords(study, first, second, points)),
    { rows, level: "h3", subject: `${study.model}, ${first.title} and ${second.title}` },
  );
}

// The points at the ends, in words.
function inWords(study, first, second, points) {
  if (isKind(first)) return "";
  const ordered = [...points].sort((a, b) => first.values[a.index] - first.values[b.index]);
  const ends = points.length > 6 ? [...ordered.slice(0, 3), ...ordered.slice(-3)] : ordered;
  return h(
    "details",
    { class: "in-words" },
    h("summary", {}, "In words: the heads at both ends"),
    h(
      "ul",
      {},
      ends.map(({ index }) =>
        h(
          "li",
          {},
          `${study.heads[index][3]}: ${first.title} ${shown(first, index)}; ${second.title} ${shown(second, index)}`,
        ),
      ),
    ),
  );
}
