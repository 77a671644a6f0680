// The best head of each relation beside its baselines; a click on a row shows sentences with its arcs.
import { max } from "d3-array";
import { arcNames, sentence } from "./arcs.js";
import { h, s } from "./dom.js";
import { figure } from "./download.js";
import { plain, signed } from "./format.js";
import { dot, key, mark } from "./marks.js";
import { axis, rowDrawing, spread, WIDTH } from "./row_drawing.js";
import { linear } from "./scales.js";

const ARROWS = ["→", "←"];

const arrow = (direction) => (direction === null ? "" : (ARROWS[direction] ?? ""));

export function probe(told, number, open) {
  if (!told.rows.length) return null;
  const every = told.rows.flatMap((row) => [row.accuracy, ...row.baselines].flat());
  const x = linear([0, max(every) || 1])
    .nice(5)
    .range([8, WIDTH - 8]);
  const columns = 6;
  const shown = told.rows.some((row) => row.examples.length);
  const body = told.rows.flatMap((row, at) => relation(told, row, `probe-${number}-${at}`, x, columns, open));
  const table = h(
    "table",
    { class: "probe" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", {}, "relation"),
        h("th", {}, "best head"),
        h("th", {}, "direction"),
        h("th", {}, told.accuracy.unit, axis(x)),
        h("th", { class: "right" }, told.gain.title),
        h("th", { class: "right" }, "cases"),
      ),
    ),
    h("tbody", {}, body),
  );
  return figure(told.title, caption(told, shown), h("div", {}, names(told), h("div", { class: "scroll" }, table)), {
    rows: () => told.rows.map((row) => flat(told, row)),
  });
}

function caption(told, shown) {
  const asked = told.summary ? `${told.summary[0].toUpperCase()}${told.summary.slice(1)}` : "";
  const paper = asked && told.paper ? ` (${told.paper})` : "";
  const ways = told.directions.map((words, way) => `${arrow(way)} ${words}`).join(", ");
  return [
    asked ? `${asked}${paper}.` : "",
    told.selected,
    told.rows.some((row) => row.direction !== null) ? `The head's attention goes ${ways}.` : "",
    shown ? "Click a row to see sentences with what the head predicts." : "",
  ]
    .filter(Boolean)
    .join(" ");
}

const names = (told) =>
  h(
    "ul",
    { class: "kinds" },
    h("li", {}, key(s("line", { x1: -8, x2: 8, y1: 0, y2: 0, class: "whisker" }), dot(0, 0)), told.accuracy.title),
    told.baselines.map(({ title }, number) => h("li", {}, key(mark(number, 0, 0)), title)),
    h("li", {}, "● shown to be above 0 by its interval, each relation by itself"),
  );

function relation(told, row, id, x, columns, open) {
  const hidden = h("tr", { id, class: "sentences", hidden: true });
  const name = row.examples.length
    ? h("button", { type: "button", class: "plain", "aria-expanded": "false", "aria-controls": id }, row.relation)
    : row.relation;
  const turn = () => {
    if (!hidden.firstChild) hidden.append(h("td", { colspan: columns }, h("div", { class: "inset" }, sentences(row))));
    hidden.hidden = !hidden.hidden;
    name.setAttribute("aria-expanded", String(!hidden.hidden));
  };
  const line = h(
    "tr",
    {
      class: row.examples.length ? "unfolds" : "",
      // A button in the row does its own work; that of the name is this.
      onclick: (event) => {
        const button = event.target.closest("button");
        if (row.examples.length && (!button || button === name)) turn();
      },
    },
    h("th", {}, name),
    h(
      "td",
      {},
      row.head === null
        ? row.spelled
        : h(
            "button",
            { type: "button", class: "plain", "aria-label": `Show ${row.spelled}`, onclick: () => open(row.head) },
            row.spelled,
          ),
    ),
    h(
      "td",
      {},
      row.direction === null
        ? ""
        : h(
            "span",
            { role: "img", title: told.directions[row.direction], "aria-label": told.directions[row.direction] },
            arrow(row.direction),
          ),
    ),
    h("td", {}, drawn(told, row, x)),
    h("td", { class: "right" }, spread(row.gain, signed), row.gain[1] > 0 ? " ●" : ""),
    h("td", { class: "right" }, row.cases === null ? "–" : row.cases.toLocaleString("en")),
  );
  return row.examples.length ? [line, hidden] : [line];
}

// The dot is the best head with its interval; the other marks are the baselines.
const drawn = (told, row, x) =>
  rowDrawing(
    x,
    row.accuracy,
    row.baselines.map(([value]) => value),
    [
      `${told.accuracy.title}: ${spread(row.accuracy, plain)}`,
      ...told.baselines.map(({ title }, number) => `${title}: ${spread(row.baselines[number], plain)}`),
    ],
  );

const sentences = (row) => [
  h(
    "p",
    { class: "caption" },
    `Above the words: what ${row.spelled} predicts for each word of ${row.relation}. Below, dashed: what is annotated. ` +
      "The sentences were drawn at random from the half that did not select the head.",
  ),
  arcNames(),
  h("ol", { class: "flips" }, row.examples.map(sentence)),
];

const flat = (told, row) => ({
  relation: row.relation,
  head: row.spelled,
  direction: told.directions[row.direction] ?? "",
  cases: row.cases,
  ...Object.fromEntries(
    [
      [told.accuracy.title, row.accuracy],
      [told.gain.title, row.gain],
      ...told.baselines.map(({ title }, number) => [title, row.baselines[number]]),
    ].flatMap(([title, [value, low, high]]) => [
      [title, value],
      [`${title}: low`, low],
      [`${title}: high`, high],
    ]),
  ),
});
