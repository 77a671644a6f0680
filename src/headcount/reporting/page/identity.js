// What the page is about: the model, its size and its task in one line, and the numbers that sum the study up.
import { h } from "./dom.js";
import { explained } from "./glossary.js";

const count = (value) =>
  value >= 1e9
    ? `${(value / 1e9).toFixed(1)} billion`
    : value >= 1e6
      ? `${(value / 1e6).toFixed(1)} million`
      : value.toLocaleString("en");

export const spelled = (text) =>
  text
    .replace(/(\d) x (\d)/g, "$1 × $2")
    .replace(/e([+-])0(?=\d)/g, "e$1")
    .replace(/-(?=\d)/g, "−");

export function identity(study) {
  const { shape, parameters, asks, date } = study.identity;
  const size = [shape && spelled(shape), parameters && `${count(parameters)} parameters`].filter(Boolean);
  const task = study.task ? [h("b", {}, study.task), asks ? `: ${asks}` : ""] : null;
  return h(
    "h1",
    {},
    h("span", { class: "name-of-model" }, study.model || study.name),
    size.map((part) => [" ", h("span", { class: "fact" }, part)]),
    task ? [" ", h("span", { class: "fact asks" }, task)] : null,
    date ? [" ", h("span", { class: "fact date", title: "The day of the study's last result" }, date)] : null,
  );
}

export function keyNumbers(study) {
  // With nothing but heads to count, as in a study of maps, the grid says it all.
  if (study.keyNumbers.filter((one) => !one.missing).length < 2) return null;
  return h(
    "ul",
    { class: "key-numbers", "aria-label": "Key numbers" },
    study.keyNumbers.map((one) =>
      h(
        "li",
        { class: one.missing ? "missing" : "" },
        h(
          "p",
          { class: "value" },
          one.missing ? "not measured" : spelled(one.value),
          one.spread ? h("span", { class: "spread" }, ` ${spelled(one.spread)}`) : null,
        ),
        h("p", { class: "what" }, explained(one.title)),
        h("p", { class: "quiet" }, one.missing ?? spelled(one.beside)),
      ),
    ),
  );
}
