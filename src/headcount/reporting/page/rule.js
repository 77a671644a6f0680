// How good the rule is that names patterns: its confusions, and whether it is right as often as it is sure.
import { h } from "./dom.js";
import { figure } from "./download.js";
import { percent } from "./pattern_names.js";

export function confusion(told) {
  const rule = told.rule;
  const head = h(
    "tr",
    {},
    h("th", {}, "labelled"),
    told.names.map((name) => h("th", { class: "right" }, name.replace("+", "+\u200b"))),
    h("th", { class: "right" }, "F1"),
  );
  const body = told.confusion.map((row, kind) =>
    h(
      "tr",
      {},
      h("td", {}, told.names[kind]),
      row.map((count, named) => h("td", { class: `right${named === kind ? " hit" : ""}` }, count)),
      h("td", { class: "right" }, told.f1[told.names[kind]].toFixed(2)),
    ),
  );
  const said = [
    "Labelled maps (rows) and the names that rules fitted to other model families gave them (columns):",
    `macro F1 ${rule.f1.toFixed(2)} [${rule.f1_low.toFixed(2)}, ${rule.f1_high.toFixed(2)}],`,
    `accuracy ${percent(rule.accuracy)}.`,
    `On other heads of the same models F1 is ${rule.f1_same_models.toFixed(2)} (the paper's: 0.86);`,
    `on the ${percent(rule.agreement)} of the ${rule.maps} maps on which two labellings agree,`,
    `${rule.f1_agreed.toFixed(2)}.`,
  ].join(" ");
  return figure(
    "How reliable the names are",
    said,
    h("div", { class: "scroll" }, h("table", { class: "confusion" }, h("thead", {}, head), h("tbody", {}, body))),
    {
      rows: () =>
        told.confusion.map((row, kind) => ({
          label: told.names[kind],
          ...Object.fromEntries(told.names.map((name, named) => [name, row[named]])),
        })),
    },
  );
}

export function reliability(told) {
  const head = h(
    "tr",
    {},
    ["the rule is sure", "maps", "mean", "right"].map((name, index) => h("th", { class: index ? "right" : "" }, name)),
  );
  const body = told.reliability.map((row) =>
    h(
      "tr",
      {},
      h("td", {}, `${percent(row.from)} to ${percent(row.to)}`),
      h("td", { class: "right" }, row.maps),
      h("td", { class: "right" }, percent(row.sure)),
      h("td", { class: "right" }, percent(row.right)),
    ),
  );
  return figure(
    "How far to trust a name",
    "The same maps by the confidence of the rule: a calibrated rule is right as often as it is confident.",
    h("div", { class: "scroll" }, h("table", { class: "confusion" }, h("thead", {}, head), h("tbody", {}, body))),
    { rows: () => told.reliability },
  );
}
