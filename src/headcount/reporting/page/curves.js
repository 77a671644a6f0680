// The score as heads are removed, for several orders.

import { extent, max, mean, min } from "d3-array";
import { area, line } from "d3-shape";
import { EDGE, plot } from "./axes.js";
import { OF_ORDER } from "./colour.js";
import { h, s } from "./dom.js";
import { figure } from "./download.js";
import { plain, signed } from "./format.js";
import { swatch } from "./legend.js";
import { linear, wide } from "./scales.js";

// `brief`: beside the grid, as a low drawing without a caption.
export function curves(one, { brief = false } = {}) {
  const height = brief ? 220 : 330;
  if (one.baseline === null) return null;
  const randoms = one.lines.filter((each) => each.order.startsWith("random"));
  const named = one.lines.filter((each) => !each.order.startsWith("random"));
  const gone = [0, ...one.removed];
  const whole = (values) => [one.baseline, ...values];
  const x = linear([0, one.heads]);
  const every = [
    ...one.lines.flatMap((each) => [...each.score, ...(named.includes(each) ? [...each.low, ...each.high] : [])]),
    one.baseline,
    ...(one.published?.score ?? []),
  ];
  const y = linear(wide(extent(every.filter((value) => value !== null)))).nice();
  const { node, inside } = plot(540, height, `${one.metric} against ${one.said.removed.title.toLowerCase()}`, x, y, [
    `${one.said.removed.title} (of ${one.heads})`,
    one.metric,
  ]);
  const known = (points) => points.filter((point) => point[1] !== null && point[1] !== undefined);
  const path = line(
    (point) => x(point[0]),
    (point) => y(point[1]),
  );
  const entries = [];
  if (one.published) {
    inside.append(
      s("path", {
        d: path(one.published.gone.map((share, index) => [share * one.heads, one.published.score[index]])),
        class: "published",
      }),
    );
    entries.push(h("li", {}, h("span", { class: "dashes" }, "┅┅"), one.published.source));
  }
  if (randoms.length) {
    const at = gone.map((count, index) => {
      const scores = randoms.map((each) => whole(each.score)[index]).filter((value) => value !== null);
      return [count, min(scores), max(scores), mean(scores)];
    });
    inside.append(
      s("path", {
        d: area(
          (point) => x(point[0]),
          (point) => y(point[1]),
          (point) => y(point[2]),
        )(at),
        class: "random-band",
      }),
      s("path", { d: path(at.map((point) => [point[0], point[3]])), class: "random-line" }),
    );
    entries.push(
      h(
        "li",
        {},
        swatch("#9a9a9a"),
        randoms.length === 1 ? "one random order" : `random: mean and range of ${randoms.length}`,
      ),
    );
  }
  named.forEach((each, index) => {
    const colour = OF_ORDER[index % OF_ORDER.length];
    const band = gone
      .map((count, at) => [count, whole(each.low)[at], whole(each.high)[at]])
      .filter((point) => point[1] !== null);
    if (index === 0)
      inside.append(
        s("path", {
          d: area(
            (point) => x(point[0]),
            (point) => y(point[1]),
            (point) => y(point[2]),
          )(band),
          fill: colour,
          opacity: 0.18,
        }),
      );
    inside.append(
      s("path", {
        d: path(known(gone.map((count, at) => [count, whole(each.score)[at]]))),
        stroke: colour,
        class: "curve",
      }),
    );
    gone.forEach((count, at) => {
      if (whole(each.score)[at] === null) return;
      const from = (end) => signed(end - one.baseline);
      const spread = at
        ? `, a change of ${from(each.score[at - 1])} [${from(each.low[at - 1])}, ${from(each.high[at - 1])}]`
        : "";
      inside.append(
        s(
          "circle",
          { cx: x(count), cy: y(whole(each.score)[at]), r: 3.2, fill: colour },
          s("title", {}, `${each.order}, ${count} of ${one.heads} gone: ${plain(whole(each.score)[at])}${spread}`),
        ),
      );
    });
    entries.push(
      h(
        "li",
        {},
        swatch(colour),
        `${each.order}${index ? "" : brief ? ", with 95 % interval" : ", with the 95 % interval of its change from the whole model"}`,
      ),
    );
  });
  inside.append(
    s("line", {
      x1: EDGE.left,
      x2: 540 - EDGE.right,
      y1: y(one.baseline),
      y2: y(one.baseline),
      class: "baseline thin",
    }),
  );
  const part = one.name.endsWith("-choosing")
    ? ": selection half"
    : one.name.endsWith("-confirming")
      ? ": held-out half"
      : "";
  const rows = () =>
    one.lines.flatMap((each) =>
      one.removed.map((count, at) => ({
        metric: one.metric,
        examples: one.examples,
        order: each.order,
        gone: count,
        score: each.score[at],
        low: each.low[at],
        high: each.high[at],
        p: each.p[at],
      })),
    );
  node.dataset.frame = JSON.stringify({ left: x(0), right: x(one.heads), top: EDGE.top, bottom: height - EDGE.bottom });
  return figure(
    `How many heads can go${part}`,
    brief
      ? null
      : `${one.metric} on ${one.examples} examples as heads are removed, the least important of each order first ` +
          "(Michel et al. 2019, Figure 3).",
    h("div", {}, node, h("ul", { class: "kinds" }, entries)),
    { rows, level: brief ? "h3" : "h2" },
  );
}
