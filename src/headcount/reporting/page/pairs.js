// Pairs of heads as arcs between the squares of a grid: redundant and synergistic ones, with their numbers.
import { h, s, select } from "./dom.js";
import { figure } from "./download.js";
import { LEVEL, plain, signed } from "./format.js";
import { grid } from "./grid.js";
import {
  bend,
  chosen,
  FIRST,
  FIRST_EFFECT,
  HIGH,
  INTERACTION,
  JOINT,
  KIND,
  KINDS,
  LOW,
  MOST,
  Q,
  SECOND,
  SECOND_EFFECT,
  strength,
} from "./pair_arcs.js";
import { fillTip, placeTip } from "./tip.js";

const CLASSES = ["pair-none", "pair-redundant", "pair-synergistic"];

const LISTED = 12;

export function pairs(study, told, open, tip) {
  const name = (index) => study.heads[index][3];
  const both = (row) => `${name(row[FIRST])} + ${name(row[SECOND])}`;
  const state = { table: 0, only: told.tables[0].rows.some((row) => row[KIND] > 0), kind: 0, pinned: null };
  // What the metric does not show the loss may: it is more sensitive.
  const telling = told.tables.findIndex((table) => table.rows.some((row) => row[KIND] > 0));
  if (telling > 0) Object.assign(state, { table: telling, only: true });
  const content = h("div", {});
  const effect = { ...told.alone, kind: "diverging", unknown: "not run" };

  const numbers = (row) => {
    const interval = `[${signed(row[LOW])}, ${signed(row[HIGH])}]`;
    return [
      `${KINDS[row[KIND]]} (q = ${plain(row[Q])})`,
      `interaction in ${told.tables[state.table].title}: ${signed(row[INTERACTION])} ${interval}`,
      `without both: ${signed(row[JOINT])}`,
      `without ${name(row[FIRST])}: ${signed(row[FIRST_EFFECT])}, without ${name(row[SECOND])}: ${signed(row[SECOND_EFFECT])}`,
    ];
  };

  const hover = (row, event) => {
    tip.hidden = row === null;
    if (row === null) return;
    tip.replaceChildren(h("b", {}, both(row)), ...numbers(row).map((line) => h("div", {}, line)));
    placeTip(tip, event.target.getBoundingClientRect());
  };

  const hoverHead = (index, event) => {
    tip.hidden = index === null;
    if (index === null) return;
    fillTip(tip, name(index), [effect], index);
    placeTip(tip, event.target.getBoundingClientRect());
  };

  const change = (what) => {
    Object.assign(state, what);
    tip.hidden = true;
    draw();
  };

  function draw() {
    const rows = chosen(told.tables[state.table].rows, state);
    content.replaceChildren(controls(), legend(), h("div", { class: "pair" }, squares(rows), list(rows)));
  }

  function squares(rows) {
    const widest = Math.max(...study.stacks.map((stack) => stack.width));
    const size = Math.max(12, Math.min(56, Math.floor(560 / widest)));
    const label = `${rows.length} pairs of heads as arcs between squares, which show the change without the head alone`;
    const node = grid(study, effect, { size, label, open, hover: hoverHead, tabs: false });
    const middle = (index) => {
      const box = node.querySelector(`[data-head="${index}"] rect`);
      const at = (key) => Number(box.getAttribute(key));
      return [at("x") + at("width") / 2, at("y") + at("height") / 2];
    };
    const most = Math.max(...rows.map((row) => Math.abs(row[INTERACTION])), 0);
    // The strongest on top, the pinned one above all.
    const order = [...rows].reverse().sort((a, b) => Number(a === state.pinned) - Number(b === state.pinned));
    for (const row of order) {
      const path = bend(middle(row[FIRST]), middle(row[SECOND]));
      const width = strength(row, most);
      const label = `${both(row)}: ${numbers(row)[0]}`;
      const faded = state.pinned && state.pinned !== row ? " faded" : "";
      node.append(
        s(
          "g",
          {
            class: `pair-arc ${CLASSES[row[KIND]]}${faded}`,
            role: "img",
            "aria-label": label,
            onclick: () => change({ pinned: state.pinned === row ? null : row }),
            onmouseenter: (event) => hover(row, event),
            onmouseleave: () => hover(null),
          },
          s("path", { d: path, class: "halo", "stroke-width": width + 2 }),
          s("path", { d: path, "stroke-width": width }),
          s("path", { d: path, class: "wide-target" }),
        ),
      );
    }
    return h("div", { class: "scroll" }, node);
  }

  function controls() {
    const only = h("input", {
      type: "checkbox",
      checked: state.only,
      onchange: (event) => change({ only: event.target.checked, pinned: null }),
    });
    const titles = told.tables.map((table, at) => ({ value: String(at), title: table.title }));
    const kinds = [{ value: "0", title: "all" }, ...[1, 2].map((at) => ({ value: String(at), title: KINDS[at] }))];
    return h(
      "div",
      { class: "controls" },
      titles.length > 1
        ? select("Interactions in", titles, String(state.table), (value) => change({ table: +value, pinned: null }))
        : null,
      select("Pairs", kinds, String(state.kind), (value) => change({ kind: +value, pinned: null })),
      h("label", { class: "choice check" }, only, h("span", {}, `q < ${LEVEL} only`)),
    );
  }

  function list(rows) {
    if (!rows.length) return h("p", { class: "caption" }, "No pair is left by these filters.");
    const first = state.pinned && rows.includes(state.pinned) ? [state.pinned] : [];
    const shown = [...first, ...rows.filter((row) => row !== state.pinned)].slice(0, LISTED);
    return h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "pairs" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "pair"),
            ["both", "first", "second", "interaction [95 %]", "q"].map((title) => h("th", { class: "right" }, title)),
            h("th", {}, "kind"),
          ),
        ),
        h("tbody", {}, shown.map(line)),
      ),
      rows.length > shown.length
        ? h("p", { class: "caption" }, `${shown.length} of ${rows.length} pairs that are drawn; the CSV has all.`)
        : null,
    );
  }

  const line = (row) =>
    h(
      "tr",
      { class: row === state.pinned ? "pinned" : "" },
      h(
        "th",
        {},
        h(
          "button",
          {
            type: "button",
            class: "plain",
            "aria-pressed": String(row === state.pinned),
            onclick: () => change({ pinned: state.pinned === row ? null : row }),
          },
          both(row),
        ),
      ),
      [JOINT, FIRST_EFFECT, SECOND_EFFECT].map((at) => h("td", { class: "right" }, signed(row[at]))),
      h("td", { class: "right" }, `${signed(row[INTERACTION])} [${signed(row[LOW])}, ${signed(row[HIGH])}]`),
      h("td", { class: "right" }, plain(row[Q])),
      h("td", {}, row[KIND] ? KINDS[row[KIND]] : ""),
    );

  draw();
  const most = told.of > MOST ? `; at most ${MOST} of ${told.of.toLocaleString("en")} pairs are drawn` : "";
  return figure(
    "Heads together",
    `An arc joins two heads whose effect together differs from the sum of their effects: worse without both than the ` +
      "sum says where they are redundant (each covers for the other), better where they are synergistic. The wider, " +
      `the stronger${most}. Squares show what happens without ` +
      `the head alone (${told.how}). Click an arc or a pair to keep it in sight.`,
    content,
    {
      rows: () =>
        told.tables.flatMap((table) =>
          table.rows.map((row) => ({
            interaction_in: table.title,
            first: name(row[FIRST]),
            second: name(row[SECOND]),
            kind: KINDS[row[KIND]],
            interaction: row[INTERACTION],
            low: row[LOW],
            high: row[HIGH],
            q: row[Q],
            joint: row[JOINT],
            first_effect: row[FIRST_EFFECT],
            second_effect: row[SECOND_EFFECT],
          })),
        ),
    },
  );
}

const legend = () =>
  h(
    "ul",
    { class: "kinds" },
    [1, 2, 0].map((kind) =>
      h(
        "li",
        {},
        s(
          "svg",
          { viewBox: "0 0 26 12", width: 26, height: 12, "aria-hidden": "true" },
          s("g", { class: `pair-arc ${CLASSES[kind]}` }, s("path", { d: "M1,9 Q13,0 25,9", "stroke-width": 2.5 })),
        ),
        KINDS[kind],
      ),
    ),
  );
