// Figures of one study: one metric against another, the histogram, layers, curves, dynamics, the map of heads, costs.
import { bin, extent, max, mean, min } from "d3-array";
import { scaleBand, scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { EDGE, plot } from "./axes.js";
import { colours, OF_ORDER } from "./colour.js";
import { drawing, h, s } from "./dom.js";
import { figure } from "./download.js";
import { LEVEL, big, plain, signed, sure } from "./format.js";
import { swatch } from "./legend.js";

// The range is set by the plot.
const linear = (domain) => scaleLinear(domain, [0, 1]);
const wide = ([low, high], share = 0.05) => {
  const room = (high - low || 1) * share;
  return [low - room, high + room];
};

export function scatter(study, first, second, { open, hover, matches, chosen }) {
  const points = study.heads.map((head, place) => ({ place, name: head[3], x: first.values[place], y: second.values[place] }))
    .filter((point) => point.x !== null && point.y !== null);
  if (!points.length || first.kind === "category" || second.kind === "category") return null;
  const x = linear(wide(extent(points, (point) => point.x)));
  const y = linear(wide(extent(points, (point) => point.y)));
  const scale = colours(first);
  const { node, inside } = plot(460, 340, `${second.title} against ${first.title}`, x, y, [first.title, second.title]);
  for (const [metric, axis, across] of [[first, x, true], [second, y, false]])
    if (metric.kind === "diverging")
      inside.append(across ? s("line", { x1: axis(0), x2: axis(0), y1: EDGE.top, y2: 340 - EDGE.bottom, class: "zero" }) : s("line", { y1: axis(0), y2: axis(0), x1: EDGE.left, x2: 460 - EDGE.right, class: "zero" }));
  for (const point of points)
    inside.append(s("circle", {
      cx: x(point.x), cy: y(point.y), r: sure(first, point.place) ? 5.5 : 4, fill: scale.of(point.x), "data-point": point.place,
      class: `dot${sure(first, point.place) ? " sure" : ""}${matches(point.place) ? "" : " dimmed"}${point.place === chosen ? " chosen" : ""}`,
      onclick: () => open(point.place), onmouseenter: (event) => hover(point.place, event), onmouseleave: () => hover(null),
    }));
  const rows = () => points.map((point) => ({ head: point.name, [first.title]: point.x, [second.title]: point.y }));
  return figure("One against the other", `Each point is a head; rank correlation ${plain(spearman(points), 2)} over ${points.length} heads.`, node, { rows, level: "h3" });
}

function spearman(points) {
  const ranks = (values) => {
    const order = values.map((value, place) => [value, place]).sort((a, b) => a[0] - b[0]);
    const found = new Array(values.length);
    for (let start = 0; start < order.length; ) {
      let stop = start;
      while (stop + 1 < order.length && order[stop + 1][0] === order[start][0]) stop++;
      for (let at = start; at <= stop; at++) found[order[at][1]] = (start + stop) / 2;
      start = stop + 1;
    }
    return found;
  };
  const [a, b] = [ranks(points.map((point) => point.x)), ranks(points.map((point) => point.y))];
  const [ma, mb] = [mean(a), mean(b)];
  let [top, left, right] = [0, 0, 0];
  a.forEach((value, place) => { top += (value - ma) * (b[place] - mb); left += (value - ma) ** 2; right += (b[place] - mb) ** 2; });
  return top / Math.sqrt(left * right);
}

export function histogram(study, metric) {
  if (!metric?.effect || metric.baseline === null) return null;
  const scores = metric.values.filter((value) => value !== null).map((value) => value + metric.baseline);
  if (!scores.length) return null;
  const x = linear(wide(extent([...scores, metric.baseline]), 0.08)).nice();
  const bins = bin().domain(x.domain()).thresholds(x.ticks(24))(scores);
  const y = linear([0, max(bins, (one) => one.length)]).nice();
  const { node, inside } = plot(540, 260, `Histogram of ${metric.unit} without one head`, x, y, [`${metric.unit} without the head`, "heads"]);
  for (const one of bins)
    if (one.length) inside.append(s("rect", { x: x(one.x0) + 0.5, width: Math.max(1, x(one.x1) - x(one.x0) - 1), y: y(one.length), height: y(0) - y(one.length), class: "bar-fill" }));
  inside.append(s("line", { x1: x(metric.baseline), x2: x(metric.baseline), y1: EDGE.top, y2: 260 - EDGE.bottom, class: "baseline" }),
    s("text", { x: x(metric.baseline) + (x(metric.baseline) > 360 ? -6 : 6), y: EDGE.top + 12, "text-anchor": x(metric.baseline) > 360 ? "end" : "start", class: "name" }, `baseline ${plain(metric.baseline, 4)}`));
  return figure("Scores without one head", `How often each score occurs when one of ${scores.length} heads is left out (Michel et al. 2019, Figure 1).`, node,
    { rows: () => study.heads.map((head, place) => ({ head: head[3], score: metric.values[place] === null ? null : metric.values[place] + metric.baseline })) });
}

export function layers(one) {
  if (one.baseline === null) return null;
  const rows = one.rows;
  const x = scaleBand(rows.map((row) => row.layer), [0, 1]).padding(0.2);
  const width = Math.max(540, Math.min(1100, 90 + rows.length * 34));
  const y = linear(wide(extent(rows.flatMap((row) => [one.baseline + row.low, one.baseline + row.high, one.baseline])))).nice();
  const { node, inside } = plot(width, 260, `${one.metric} without each layer`, x, y, ["layer left out", one.metric]);
  inside.append(s("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(one.baseline), y2: y(one.baseline), class: "baseline" }));
  for (const row of rows) {
    const middle = x(row.layer) + x.bandwidth() / 2;
    inside.append(
      s("rect", { x: x(row.layer), width: x.bandwidth(), y: Math.min(y(row.score), y(one.baseline)), height: Math.max(0.5, Math.abs(y(row.score) - y(one.baseline))), class: row.delta < 0 === one.higher ? "bar-down" : "bar-up" },
        s("title", {}, `${row.layer}: ${plain(row.score)} (${signed(row.delta)} [${signed(row.low)}, ${signed(row.high)}], q = ${plain(row.q)})`)),
      s("line", { x1: middle, x2: middle, y1: y(one.baseline + row.low), y2: y(one.baseline + row.high), class: "whisker" }));
    if (row.q !== null && row.q < LEVEL) inside.append(s("text", { x: middle, y: EDGE.top + 8, "text-anchor": "middle", class: "name" }, "●"));
  }
  return figure("Without a whole layer", `${one.metric} without all heads of a layer, as bars from the baseline (${plain(one.baseline, 4)}, the line), with 95 % intervals; ● significant (q < ${LEVEL}) (Kovaleva et al. 2019, Figure 9).`, node, { rows: () => rows });
}

export function curves(one) {
  if (one.baseline === null) return null;
  const randoms = one.lines.filter((each) => each.order.startsWith("random"));
  const named = one.lines.filter((each) => !each.order.startsWith("random"));
  const gone = [0, ...one.removed];
  const whole = (values) => [one.baseline, ...values];
  const x = linear([0, one.heads]);
  const every = [...one.lines.flatMap((each) => [...each.score, ...(named.includes(each) ? [...each.low, ...each.high] : [])]), one.baseline, ...(one.published?.score ?? [])];
  const y = linear(wide(extent(every.filter((value) => value !== null)))).nice();
  const { node, inside } = plot(540, 330, `${one.metric} against heads gone`, x, y, [`heads gone (of ${one.heads})`, one.metric]);
  const known = (points) => points.filter((point) => point[1] !== null && point[1] !== undefined);
  const path = line((point) => x(point[0]), (point) => y(point[1]));
  const entries = [];
  if (one.published) {
    inside.append(s("path", { d: path(one.published.gone.map((share, place) => [share * one.heads, one.published.score[place]])), class: "published" }));
    entries.push(h("li", {}, h("span", { class: "dashes" }, "┅┅"), one.published.source));
  }
  if (randoms.length) {
    const at = gone.map((count, place) => {
      const scores = randoms.map((each) => whole(each.score)[place]).filter((value) => value !== null);
      return [count, min(scores), max(scores), mean(scores)];
    });
    inside.append(s("path", { d: area((point) => x(point[0]), (point) => y(point[1]), (point) => y(point[2]))(at), class: "random-band" }),
      s("path", { d: path(at.map((point) => [point[0], point[3]])), class: "random-line" }));
    entries.push(h("li", {}, swatch("#9a9a9a"), `random: mean and range of ${randoms.length}`));
  }
  named.forEach((each, place) => {
    const colour = OF_ORDER[place % OF_ORDER.length];
    const band = gone.map((count, at) => [count, whole(each.low)[at], whole(each.high)[at]]).filter((point) => point[1] !== null);
    if (place === 0) inside.append(s("path", { d: area((point) => x(point[0]), (point) => y(point[1]), (point) => y(point[2]))(band), fill: colour, opacity: 0.18 }));
    inside.append(s("path", { d: path(known(gone.map((count, at) => [count, whole(each.score)[at]]))), stroke: colour, class: "curve" }));
    gone.forEach((count, at) => {
      if (whole(each.score)[at] === null) return;
      const from = (end) => signed(end - one.baseline);
      const spread = at ? `, a change of ${from(each.score[at - 1])} [${from(each.low[at - 1])}, ${from(each.high[at - 1])}]` : "";
      inside.append(s("circle", { cx: x(count), cy: y(whole(each.score)[at]), r: 3.2, fill: colour }, s("title", {}, `${each.order}, ${count} of ${one.heads} gone: ${plain(whole(each.score)[at])}${spread}`)));
    });
    entries.push(h("li", {}, swatch(colour), `${each.order}${place === 0 ? ", with the 95 % interval of its change from the whole model" : ""}`));
  });
  inside.append(s("line", { x1: EDGE.left, x2: 540 - EDGE.right, y1: y(one.baseline), y2: y(one.baseline), class: "baseline thin" }));
  const part = one.name.endsWith("-choosing") ? ": selection half" : one.name.endsWith("-confirming") ? ": held-out half" : "";
  const rows = () => one.lines.flatMap((each) => one.removed.map((count, at) => ({ order: each.order, gone: count, score: each.score[at], low: each.low[at], high: each.high[at], p: each.p[at] })));
  return figure(`How many heads can go${part}`, `${one.metric} on ${one.examples} examples as heads are removed, the least important of each order first (Michel et al. 2019, Figure 3).`, h("div", {}, node, h("ul", { class: "kinds" }, entries)), { rows });
}

export function dynamics(one) {
  const x = linear(extent(one.checkpoints));
  const y = linear([Math.min(0, min([...one.agreement, ...one.low].filter((value) => value !== null))), 1]);
  const { node, inside } = plot(480, 260, "Agreement of the order of heads with the last", x, y, ["training step", "rank correlation"]);
  const band = one.checkpoints.map((step, at) => [step, one.low[at] ?? one.agreement[at], one.high[at] ?? one.agreement[at]]);
  inside.append(s("path", { d: area((point) => x(point[0]), (point) => y(point[1]), (point) => y(point[2]))(band), fill: OF_ORDER[0], opacity: 0.18 }),
    s("path", { d: line((point) => x(point[0]), (point) => y(point[1]))(one.checkpoints.map((step, at) => [step, one.agreement[at]])), stroke: OF_ORDER[0], class: "curve" }),
    s("line", { x1: EDGE.left, x2: 480 - EDGE.right, y1: y(0.9), y2: y(0.9), class: "baseline thin" }));
  const size = 26, left = 70, top = 30;
  const scores = one.score.flat().filter((value) => value !== null);
  const scale = colours({ kind: "sequential", values: [...scores, ...one.baseline], unit: "" });
  const map = drawing(Math.max(left + 160, left + (one.removed.length + 1) * size + 24), top + one.checkpoints.length * size + 6, `${one.metric} by step and heads gone`,
    s("text", { x: left, y: 12, class: "name" }, "share of the heads gone"),
    [0, ...one.removed].map((count, at) => (at % 2 ? null : s("text", { x: left + (at + 0.5) * size, y: 26, "text-anchor": "middle", class: "tick" }, `${Math.round((100 * count) / one.heads)}%`))),
    one.checkpoints.map((step, row) => [
      s("text", { x: left - 6, y: top + (row + 0.65) * size, "text-anchor": "end", class: "tick" }, step),
      [one.baseline[row], ...one.score[row]].map((value, at) => s("rect", { x: left + at * size, y: top + row * size, width: size - 1, height: size - 1, fill: value === null ? "none" : scale.of(value) },
        s("title", {}, `step ${step}, ${at ? one.removed[at - 1] : 0} heads gone: ${plain(value)}`))),
    ]));
  const rows = () => one.checkpoints.flatMap((step, row) => one.removed.map((count, at) => ({ step, gone: count, score: one.score[row][at], agreement: one.agreement[row] })));
  return h("div", { class: "pair" },
    figure("When the order of heads settles", "Rank correlation of each checkpoint's importance with the last one's; the line is 0.9 (Michel et al. 2019, Figure 5).", node, { rows, level: "h3" }),
    figure(`${one.metric} along the training`, "A row for each checkpoint, its heads going from left to right; bright is high.", map, { rows, level: "h3" }));
}

export function embedding(study, metric, { open, hover, chosen }) {
  const { x: left, y: up, facts } = study.embedding;
  const points = study.heads.map((head, place) => ({ place, name: head[3], layer: head[1], x: left[place], y: up[place] })).filter((point) => point.x !== null);
  if (!points.length) return null;
  const x = linear(wide(extent(points, (point) => point.x)));
  const y = linear(wide(extent(points, (point) => point.y)));
  const scale = colours(metric);
  const { node, inside } = plot(540, 420, "Heads as points", x, y, ["near points: heads with like maps", ""], { xTicks: 0, yTicks: 0 });
  for (const point of points) {
    const value = metric.values[point.place];
    inside.append(s("circle", { cx: x(point.x), cy: y(point.y), r: 5, fill: value === null ? "none" : scale.of(value), class: `dot${point.place === chosen ? " chosen" : ""}`, "data-point": point.place,
      onclick: () => open(point.place), onmouseenter: (event) => hover(point.place, event), onmouseleave: () => hover(null) }));
  }
  const said = facts.filter((fact) => fact.p !== null).map((fact) => `Heads of one layer are ${plain(fact.within)} nats apart, of different layers ${plain(fact.between)} (${fact.stack}, p = ${plain(fact.p)}).`);
  return figure("Which heads are alike", ["Distances between heads' maps laid out in the plane, coloured as the grid is.", ...said].join(" "), node, { rows: () => points.map((point) => ({ head: point.name, x: point.x, y: point.y, value: metric.values[point.place] })) });
}

export function costs(one) {
  const models = [...new Set(one.rows.map((row) => row.model))];
  const first = one.rows[0], last = one.rows.find((row) => row.model === models.at(-1));
  const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, ""), models.map((model) => h("th", { class: "right" }, model)))),
    h("tbody", {}, [["parameters", "parameters"], ["of them in the attention", "attention_parameters"], ["bytes of the weights", "bytes"]].map(([title, name]) =>
      h("tr", {}, h("th", {}, title), models.map((model) => h("td", { class: "right" }, big(one.rows.find((row) => row.model === model)[name]))))),
      [...new Set(one.rows.map((row) => `${row.batch} × ${row.length}`))].map((shape) =>
        h("tr", {}, h("th", {}, `ms for ${shape} tokens`), models.map((model) => {
          const row = one.rows.find((each) => each.model === model && `${each.batch} × ${each.length}` === shape);
          return h("td", { class: "right" }, row ? `${plain(row.ms, 1)} [${plain(row.ms_low, 1)}, ${plain(row.ms_high, 1)}]` : "–");
        })))));
  const less = models.length > 1 ? ` The second has ${(100 * (1 - last.parameters / first.parameters)).toFixed(1)} % fewer parameters.` : "";
  return figure("What it costs", `Size and time (median and quartiles), models in turns on the same machine.${less}`, h("div", { class: "scroll" }, table), { rows: () => one.rows });
}

export function kinds(metric) {
  const counts = metric.names.map((name, kind) => ({ name, count: metric.values.filter((value) => value === kind).length, kind }));
  const x = linear([0, max(counts, (one) => one.count)]).nice();
  const y = scaleBand(counts.map((one) => one.name), [0, 1]).padding(0.2);
  const height = 60 + counts.length * 24, width = 520, left = 180;
  x.range([left, width - 40]);
  y.range([6, height - 46]);
  const scale = colours(metric);
  const node = drawing(width, height, metric.title, counts.map((one) => [
    s("text", { x: left - 8, y: y(one.name) + y.bandwidth() / 2 + 4, "text-anchor": "end", class: "name" }, one.name),
    s("rect", { x: left, y: y(one.name), width: Math.max(1, x(one.count) - left), height: y.bandwidth(), fill: scale.of(one.kind) }),
    s("text", { x: x(one.count) + 6, y: y(one.name) + y.bandwidth() / 2 + 4, class: "name" }, one.count)]));
  node.setAttribute("viewBox", `0 0 ${width} ${height - 40}`);
  node.setAttribute("height", height - 40);
  return figure(`How many heads: ${metric.title.toLowerCase()}`, `${metric.says}.`, node, { rows: () => counts.map(({ name, count }) => ({ kind: name, heads: count })) });
}
