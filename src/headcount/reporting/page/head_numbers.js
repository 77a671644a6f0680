// The relations that a head follows, how far away it looks, and all its numbers.

import { max } from "d3-array";
import { scaleBand, scaleLinear } from "d3-scale";
import { plot } from "./axes.js";
import { drawing, h, s } from "./dom.js";
import { figure } from "./download.js";
import { plain, rank, shown, sure } from "./format.js";

// A share of attention that is nearly none is written as none, unless that hides what is higher by its interval.
const share = (value) => (value !== null && value < 0.005 ? "0.00" : plain(value, 2));

export function shares(attention, control, higher) {
  const short = [share(attention), share(control)];
  const [high, low] = higher && short[0] === short[1] ? [plain(attention), plain(control)] : short;
  return `${high} (${low})${higher ? " ●" : ""}`;
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
        shares(one.attention[index], one.control[index], one.gain_low[index] > 0),
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
        head: study.heads[index][3],
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
      head: study.heads[index][3],
      rows: () => values.map((value, number) => ({ offset: study.offsets.offsets[number], attention: value })),
    }),
  );
}

// All numbers of a head by group, folded, with a search.
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
  const lines = known.map((colouring) => ({
    said: `${colouring.title} ${colouring.group}`.toLowerCase(),
    node: h(
      "tr",
      {},
      h("td", {}, colouring.title, colouring.unit ? h("span", { class: "unit" }, ` ${colouring.unit}`) : null),
      h("td", { class: "right" }, shown(colouring, index), sure(colouring, index) ? " ●" : ""),
      h("td", { class: "right" }, rank(colouring, index) ? `${rank(colouring, index)} of ${heads}` : ""),
    ),
  }));
  const groups = new Map();
  known.forEach((colouring, at) => {
    if (!groups.has(colouring.group)) groups.set(colouring.group, []);
    groups.get(colouring.group).push(lines[at].node);
  });
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "number"),
        h("th", { scope: "col", class: "right" }, "value [95 %]"),
        h("th", { scope: "col", class: "right" }, "rank"),
      ),
    ),
    [...groups].map(([group, members]) =>
      h(
        "tbody",
        {},
        group ? h("tr", { class: "group" }, h("th", { colspan: 3, scope: "rowgroup" }, group)) : null,
        members,
      ),
    ),
  );
  const search = h("input", {
    type: "search",
    placeholder: "Search these numbers",
    "aria-label": "Search these numbers",
    oninput: (event) => {
      const wanted = event.target.value.toLowerCase();
      for (const line of lines) line.node.hidden = !line.said.includes(wanted);
    },
  });
  const folded = h(
    "details",
    { class: "folded" },
    h("summary", {}, known.length === 1 ? "One number" : `${known.length} numbers`),
    search,
    h("div", { class: "scroll" }, table),
  );
  return h(
    "section",
    { class: "wide" },
    figure(
      "All its numbers",
      "Rank 1 is the largest value of all heads; ● significant (corrected for all heads).",
      folded,
      {
        level: "h3",
        head: study.heads[index][3],
        rows,
      },
    ),
  );
}
