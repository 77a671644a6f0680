// What the maps of a study look like: shares of patterns by stack, layer and study.

import { scaleLinear } from "d3-scale";
import { inkOn } from "./colour.js";
import { drawing, h, s } from "./dom.js";
import { figure } from "./download.js";
import { shortenMiddle } from "./format.js";
import { colour, names, percent, spread } from "./pattern_names.js";
import { confusion, reliability } from "./rule.js";

export function patterns(study) {
  const told = study.patterns;
  if (!told?.stacks.length) return null;
  return h(
    "div",
    { class: "pair" },
    told.stacks.map((stack) => [shares(told, stack), byLayer(told, stack)]),
    told.f1 ? [confusion(told), reliability(told)] : null,
  );
}

const whose = (told, stack) => (told.stacks.length > 1 ? `: ${stack.stack}` : "");

function shares(told, stack) {
  const left = 136,
    top = 4,
    step = 30,
    width = 520;
  const most = Math.max(...stack.high, ...(told.published?.share ?? [0]), 0.01);
  const x = scaleLinear([0, most], [left, width - 126]);
  const node = drawing(
    width,
    top + told.names.length * step + 4,
    "Shares of patterns",
    told.names.map((name, kind) => {
      const y = top + kind * step;
      return [
        s("text", { x: left - 8, y: y + 17, "text-anchor": "end", class: "name" }, name),
        s("rect", {
          x: left,
          y: y + 3,
          width: Math.max(1, x(stack.share[kind]) - left),
          height: step - 10,
          fill: colour(kind),
        }),
        s("line", {
          x1: x(stack.low[kind]),
          x2: x(stack.high[kind]),
          y1: y + step / 2 - 2,
          y2: y + step / 2 - 2,
          class: "whisker",
        }),
        told.published
          ? s("line", {
              x1: x(told.published.share[kind]),
              x2: x(told.published.share[kind]),
              y1: y,
              y2: y + step - 4,
              class: "baseline",
            })
          : null,
        s(
          "text",
          { x: x(Math.max(stack.high[kind], told.published?.share[kind] ?? 0)) + 8, y: y + 17, class: "name" },
          spread(stack, kind),
        ),
      ];
    }),
  );
  const paper = told.published ? ` Dashed: ${told.published.source}.` : "";
  return figure(
    `What the maps look like${whose(told, stack)}`,
    "The share of all maps, over all heads and texts, with a 95 % interval that includes the mistakes of the rule " +
      `that names them, measured on model families that it had not seen.${paper}`,
    node,
    {
      rows: () =>
        told.names.map((name, kind) => ({
          pattern: name,
          share: stack.share[kind],
          low: stack.low[kind],
          high: stack.high[kind],
          published: told.published?.share[kind] ?? null,
        })),
    },
  );
}

// Bars of one length, cut into the shares of the patterns.
function stacked(label, rows, told, wide = 60) {
  const step = 22,
    width = 520,
    left = wide;
  const x = scaleLinear([0, 1], [left, width - 6]);
  return drawing(
    width,
    rows.length * step + 4,
    label,
    rows.map((row, number) => {
      let from = 0;
      return [
        s("text", { x: left - 8, y: number * step + 15, "text-anchor": "end", class: "name" }, row.name),
        row.share.map((share, kind) => {
          const start = from;
          from += share;
          const room = x(from) - x(start);
          return share > 0
            ? [
                s(
                  "rect",
                  {
                    x: x(start),
                    y: number * step + 1,
                    width: Math.max(0.5, room - 0.5),
                    height: step - 3,
                    fill: colour(kind),
                  },
                  s("title", {}, `${row.whole ?? row.name}: ${told.names[kind]} ${percent(share)}`),
                ),
                room > 26
                  ? s(
                      "text",
                      {
                        x: x(start) + room / 2,
                        y: number * step + 15,
                        "text-anchor": "middle",
                        class: inkOn(colour(kind)) === "#fff" ? "inside bright" : "inside",
                      },
                      Math.round(100 * share),
                    )
                  : null,
              ]
            : null;
        }),
      ];
    }),
  );
}

function byLayer(told, stack) {
  const rows = stack.layers.map((share, number) => ({ name: `L${number}`, share })).filter((row) => row.share);
  return figure(
    `Patterns by layer${whose(told, stack)}`,
    "The share of each layer's maps, in percent.",
    h("div", {}, stacked("Patterns by layer", rows, told), names(told)),
    {
      rows: () =>
        rows.map((row) => ({
          layer: row.name,
          ...Object.fromEntries(told.names.map((name, kind) => [name, row.share[kind]])),
        })),
    },
  );
}

// Several studies, as in the paper: a bar for each.
export function patternsBeside(studies) {
  const known = studies.filter((study) => study.patterns?.stacks.length);
  if (known.length < 2) return null;
  const told = known[0].patterns;
  const papers = new Set();
  const rows = known.flatMap((study) =>
    study.patterns.stacks.flatMap((stack, number) => {
      const mark = study.patterns.stacks.length > 1 ? `${study.name} ${stack.stack}` : study.name;
      const published = number ? null : study.patterns.published;
      // The paper's own bar stands once below the first study that it is for.
      const paper = published && !papers.has(published.source) ? published : null;
      if (paper) papers.add(paper.source);
      return [
        { name: shortenMiddle(mark, 19), whole: mark, share: stack.share },
        paper ? { name: "(the paper's BERT)", whole: `${mark}, ${paper.source}`, share: paper.share } : null,
      ].filter(Boolean);
    }),
  );
  return figure(
    "Patterns of the studies",
    "The share of all maps of each study, in percent (Kovaleva et al. 2019, Figure 2).",
    h("div", {}, stacked("Patterns of the studies", rows, told, 160), names(told)),
    {
      rows: () =>
        rows.map((row) => ({
          study: row.whole,
          ...Object.fromEntries(told.names.map((name, kind) => [name, row.share[kind]])),
        })),
    },
  );
}
