// One number against another, a point for each head; kinds stand in rows of their own.

import { extent } from "d3-array";
import { EDGE, plot } from "./axes.js";
import { colours, setLight } from "./colour.js";
import { h, s } from "./dom.js";
import { figure } from "./download.js";
import { plain, shown, sure } from "./format.js";
import { lasso } from "./lasso.js";
import { spearman } from "./rank_correlation.js";
import { linear, wide } from "./scales.js";

const [WIDTH, HEIGHT] = [520, 380];

// `choose(indices)`: the heads inside a line that is drawn around them.
export function scatter(study, first, second, { open, hover, matches, chosen, choose }) {
  const points = study.heads
    .map((head, index) => ({ index, name: head[3], x: first.values[index], y: second.values[index] }))
    .filter((point) => point.x !== null && point.y !== null);
  if (!points.length) return h("p", { class: "quiet" }, `No head has both: ${first.title}, and ${second.title}.`);
  const kinds = [first, second].map((colouring) => colouring.kind === "category");
  const domain = (colouring, values) =>
    colouring.kind === "category" ? [-0.6, colouring.names.length - 0.4] : wide(extent(values));
  const x = linear(
    domain(
      first,
      points.map((point) => point.x),
    ),
  );
  const y = linear(
    domain(
      second,
      points.map((point) => point.y),
    ),
  );
  const scale = colours(first);
  const white = colours(first, { dark: false });
  const names = (colouring) => (colouring.kind === "category" ? colouring.names.map(brief) : undefined);
  const said = `${second.title} against ${first.title}`;
  const { node, inside } = plot(WIDTH, HEIGHT, said, x, y, [first.title, second.title], {
    xFormat: names(first),
    yFormat: names(second),
  });
  for (const [colouring, axis, across] of [
    [first, x, true],
    [second, y, false],
  ])
    if (colouring.kind === "diverging") {
      const at = axis(colouring.centre ?? 0);
      inside.append(
        across
          ? s("line", { x1: at, x2: at, y1: EDGE.top, y2: HEIGHT - EDGE.bottom, class: "zero" })
          : s("line", { y1: at, y2: at, x1: EDGE.left, x2: WIDTH - EDGE.right, class: "zero" }),
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
        () => ({ fill: white.of(point.x) }),
      ),
    );
  if (choose)
    lasso(
      node,
      placed.map(({ index, cx, cy }) => ({ index, x: cx, y: cy })),
      choose,
    );
  const value = (colouring, one) => (colouring.kind === "category" ? colouring.names[one] : one);
  const rows = () =>
    points.map((point) => ({
      head: point.name,
      [first.title]: value(first, point.x),
      [second.title]: value(second, point.y),
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

const brief = (name) => (name.length > 8 ? `${name.slice(0, 7)}…` : name);

// The points at the ends, in words.
function inWords(study, first, second, points) {
  if (first.kind === "category") return "";
  const ordered = [...points].sort((a, b) => a.x - b.x);
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
