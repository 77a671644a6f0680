// The strongest cues of a data set, and a model's accuracy where they point the right way and where they do not.
import { h, s } from "./dom.js";
import { figure } from "./download.js";
import { LEVEL, plain } from "./format.js";
import { dot, key, mark } from "./marks.js";
import { axis, rowDrawing, spread, WIDTH } from "./row_drawing.js";
import { linear } from "./scales.js";

const x = linear([0, 1]).range([8, WIDTH - 8]);

const right = (...content) => h("td", { class: "right" }, content);

export const cues = (told) =>
  [told.rows.length ? strongest(told) : null, told.parts.length ? parts(told) : null].filter(Boolean);

function strongest(told) {
  const { said } = told;
  const table = h(
    "table",
    { class: "probe cues" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", {}, "cue"),
        told.labelled ? h("th", {}, "label") : null,
        h("th", {}, said.productivity.title, axis(x)),
        [said.productivity.title, said.coverage.title, said.applicability.title, "q"].map((title) =>
          h("th", { class: "right" }, title),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      told.rows.map((row) =>
        h(
          "tr",
          {},
          h("th", {}, row.cue),
          told.labelled ? h("td", {}, row.label) : null,
          h("td", {}, drawn(told, row)),
          right(spread(row.productivity, plain), row.significant ? " ●" : ""),
          right(plain(row.coverage[0])),
          right(row.applicability.toLocaleString("en")),
          right(plain(row.q)),
        ),
      ),
    ),
  );
  const names = h(
    "ul",
    { class: "kinds" },
    h("li", {}, key(s("line", { x1: -8, x2: 8, y1: 0, y2: 0, class: "whisker" }), dot(0, 0)), said.productivity.title),
    h("li", {}, key(mark(0, 0, 0)), said.chance.title),
    h("li", {}, `● significant (q < ${LEVEL})`),
  );
  const all = told.tested.toLocaleString("en");
  const shown = told.rows.length < told.tested ? ` The ${told.rows.length} strongest of ${all} are shown.` : "";
  return figure(
    told.title,
    `${told.heading}${shown} ${told.selected}`,
    h("div", {}, names, h("div", { class: "scroll tall" }, table)),
    { rows: () => told.rows.map(flat) },
  );
}

const drawn = (told, row) =>
  rowDrawing(
    x,
    row.productivity,
    [row.chance],
    [
      `${told.said.productivity.title}: ${spread(row.productivity, plain)}`,
      `${told.said.chance.title}: ${plain(row.chance)}`,
    ],
  );

function parts(told) {
  const table = h(
    "table",
    { class: "probe parts" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", {}, "examples"),
        h("th", {}, "accuracy", axis(x)),
        h("th", { class: "right" }, "accuracy"),
        h("th", { class: "right" }, "number"),
      ),
    ),
    h(
      "tbody",
      {},
      told.parts.map((row) =>
        h(
          "tr",
          {},
          h("th", {}, row.part),
          h(
            "td",
            {},
            row.accuracy[0] === null
              ? ""
              : rowDrawing(x, row.accuracy, [], [`accuracy: ${spread(row.accuracy, plain)}`]),
          ),
          right(row.accuracy[0] === null ? "–" : spread(row.accuracy, plain)),
          right(row.examples.toLocaleString("en")),
        ),
      ),
    ),
  );
  return figure(
    `${told.model} where the cues are right and where they are wrong`,
    "Examples by what the cue-only classifier says about them, out-of-fold, each part with the interval of its accuracy.",
    h("div", { class: "scroll" }, table),
    {
      rows: () => told.parts.map(({ part, examples, accuracy }) => ({ part, examples, ...ends("accuracy", accuracy) })),
    },
  );
}

const ends = (name, [value, low, high]) => ({ [name]: value, [`${name}: low`]: low, [`${name}: high`]: high });

const flat = ({ cue, label, applicability, productivity, coverage, chance, alone, q }) => ({
  cue,
  ...(label === null ? {} : { label }),
  applicability,
  ...ends("productivity", productivity),
  chance,
  ...ends("coverage", coverage),
  alone,
  q,
});
