// Size and time of models, in a table.
import { h } from "./dom.js";
import { figure } from "./download.js";
import { big, label, plain } from "./format.js";

export function costs(one) {
  const models = [...new Set(one.rows.map((row) => row.model))];
  const first = one.rows[0],
    last = one.rows.find((row) => row.model === models.at(-1));
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", {}, "cost"),
        models.map((model) => h("th", { class: "right" }, model)),
      ),
    ),
    h(
      "tbody",
      {},
      ["parameters", "attention_parameters", "bytes"].map((name) =>
        h(
          "tr",
          {},
          h("th", {}, label(one.said[name])),
          models.map((model) => h("td", { class: "right" }, big(one.rows.find((row) => row.model === model)[name]))),
        ),
      ),
      [...new Set(one.rows.map((row) => `${row.batch} × ${row.length}`))].map((shape) =>
        h(
          "tr",
          {},
          h("th", {}, `${label(one.said.ms)}, ${shape} tokens`),
          models.map((model) => {
            const row = one.rows.find((each) => each.model === model && `${each.batch} × ${each.length}` === shape);
            return h(
              "td",
              { class: "right" },
              row ? `${plain(row.ms, 1)} [${plain(row.ms_low, 1)}, ${plain(row.ms_high, 1)}]` : "–",
            );
          }),
        ),
      ),
    ),
  );
  const less =
    models.length > 1
      ? ` The second has ${(100 * (1 - last.parameters / first.parameters)).toFixed(1)} % fewer parameters.`
      : "";
  return figure(
    "What it costs",
    `Size and time (median and quartiles), models in turns on the same machine.${less}`,
    h("div", { class: "scroll" }, table),
    { rows: () => one.rows },
  );
}
