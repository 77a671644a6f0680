// What changes without a head, the relations it follows, how far away it looks, and all its numbers.

import { max } from "d3-array";
import { scaleBand, scaleLinear } from "d3-scale";
import { plot } from "./axes.js";
import { drawing, h, s } from "./dom.js";
import { figure } from "./download.js";
import { plain, rank, shown, sure } from "./format.js";

export function flips(study, index) {
  const told = (one) => {
    const found = one.heads[index];
    const { ran, given } = one.patched ?? {};
    const how = one.patched ? `with it from the ${given} input` : "without it";
    const examples = one.patched ? `${ran} examples` : "examples";
    if (!found)
      return h(
        "p",
        {},
        `${how[0].toUpperCase()}${how.slice(1)} the model answers all ${one.examples} ${examples} as before.`,
      );
    const list = h(
      "ol",
      { class: "flips" },
      found.shown.map(([number, now]) => {
        const { text, label, whole, cues, marks, given: other } = one.texts[number];
        const verdict = one.patched
          ? now === other
            ? `as on the ${given} input`
            : "changed"
          : one.classes
            ? label === null
              ? "changed"
              : whole === label
                ? "now wrong"
                : now === label
                  ? "now right"
                  : "wrong before and after"
            : "changed";
        return h(
          "li",
          {},
          text.map((part, at) => h("p", { class: "text" }, marked(part, marks?.[at] ?? []))),
          h(
            "p",
            { class: `verdict ${verdict.replaceAll(" ", "-")}` },
            `${whole} → ${now}`,
            // The label of a pair is that of its clean input.
            label === null || one.patched ? " " : ` (label: ${label}) `,
            h("b", {}, verdict),
            cues ? h("span", { class: "cue-says" }, `, ${cues}`) : "",
          ),
        );
      }),
    );
    const more = found.count > found.shown.length ? ` The first ${found.shown.length}:` : "";
    const count = `${found.count} of ${one.examples} ${examples}`;
    return [h("p", {}, `${count} are answered otherwise ${how}.${more}`), list];
  };
  const section = (title, sweeps) => (sweeps.length ? h("section", {}, h("h3", {}, title), sweeps.map(told)) : null);
  return [
    section(
      "What changes without it",
      study.flips.filter((one) => !one.patched),
    ),
    section(
      "What changes with it from the other input",
      study.flips.filter((one) => one.patched),
    ),
  ].filter(Boolean);
}

/** A text with some of its characters marked. */
export function marked(text, spans, title = "a cue word") {
  const parts = [];
  let end = 0;
  for (const [from, to] of spans) {
    parts.push(text.slice(end, from), h("mark", { title }, text.slice(from, to)));
    end = to;
  }
  return [...parts, text.slice(end)];
}

export function relations(study, index) {
  const rows = study.relations.filter((one) => one.attention[index] !== null);
  if (!rows.length) return null;
  const top = max(rows, (one) => Math.max(one.attention[index], one.control[index] ?? 0)) || 1;
  const x = scaleLinear([0, top], [0, 200]);
  const node = drawing(
    440,
    rows.length * 30 + 6,
    "Relations between words",
    rows.map((one, row) => [
      s("text", { x: 146, y: row * 30 + 18, "text-anchor": "end", class: "name" }, one.name),
      s("rect", { x: 152, y: row * 30 + 6, width: Math.max(1, x(one.attention[index])), height: 8, class: "bar-fill" }),
      s("rect", {
        x: 152,
        y: row * 30 + 16,
        width: Math.max(1, x(one.control[index] ?? 0)),
        height: 5,
        class: "bar-control",
      }),
      s(
        "text",
        { x: 160 + x(Math.max(one.attention[index], one.control[index] ?? 0)), y: row * 30 + 17, class: "tick" },
        `${plain(one.attention[index], 2)} (${plain(one.control[index], 2)})${one.gain_low[index] > 0 ? " ●" : ""}`,
      ),
    ]),
  );
  return h(
    "section",
    {},
    figure(
      "Relations it follows",
      "Attention along each relation (thick) and at the same offset elsewhere (thin, in brackets); " +
        "● higher, by its 95 % interval.",
      node,
      {
        level: "h3",
        rows: () =>
          rows.map((one) => ({ relation: one.name, attention: one.attention[index], control: one.control[index] })),
      },
    ),
  );
}

export function offsets(study, index) {
  const values = study.offsets?.values[index];
  if (!values || values.every((value) => value === null)) return null;
  const x = scaleBand(study.offsets.offsets.map(String), [0, 1]).padding(0.15);
  const y = scaleLinear([0, max(values)], [0, 1]).nice();
  const { node, inside } = plot(440, 170, "Attention by offset", x, y, ["tokens away", "attention"], { yTicks: 3 });
  values.forEach((value, number) => {
    if (value !== null)
      inside.append(
        s("rect", {
          x: x(String(study.offsets.offsets[number])),
          width: x.bandwidth(),
          y: y(value),
          height: y(0) - y(value),
          class: "bar-fill",
        }),
      );
  });
  return h(
    "section",
    {},
    figure("How far away it looks", "Mean attention to the token at each distance before (−) or after (+).", node, {
      level: "h3",
      rows: () => values.map((value, number) => ({ offset: study.offsets.offsets[number], attention: value })),
    }),
  );
}

export function numbers(study, index) {
  const heads = study.heads.length;
  const known = study.colourings.filter((colouring) => colouring.values[index] !== null);
  const rows = () =>
    known.map((colouring) => ({
      number: colouring.title,
      value: colouring.kind === "category" ? colouring.names[colouring.values[index]] : colouring.values[index],
      low: colouring.low?.[index] ?? null,
      high: colouring.high?.[index] ?? null,
      unit: colouring.unit,
      rank: rank(colouring, index),
    }));
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", {}, "number"),
        h("th", { class: "right" }, "value [95 %]"),
        h("th", { class: "right" }, "rank"),
      ),
    ),
    h(
      "tbody",
      {},
      known.map((colouring) =>
        h(
          "tr",
          {},
          h("td", {}, colouring.title, colouring.unit ? h("span", { class: "unit" }, ` ${colouring.unit}`) : null),
          h("td", { class: "right" }, shown(colouring, index), sure(colouring, index) ? " ●" : ""),
          h("td", { class: "right" }, rank(colouring, index) ? `${rank(colouring, index)} of ${heads}` : ""),
        ),
      ),
    ),
  );
  return h(
    "section",
    {},
    figure(
      "All its numbers",
      "Rank 1 is the largest value of all heads; ● significant (corrected for all heads).",
      h("div", { class: "scroll" }, table),
      { level: "h3", rows },
    ),
  );
}
