// Several studies beside each other: a small grid for each, and how far they agree on which heads matter.
import { h } from "./dom.js";
import { figure } from "./download.js";
import { plain } from "./format.js";
import { grid } from "./grid.js";
import { legend } from "./legend.js";
import { patternsBeside } from "./patterns.js";

export function several(data, choose) {
  const effects = data.studies.map(
    (study) => study.colourings.find((colouring) => colouring.effect) ?? study.colourings[0],
  );
  const boxes = data.studies.map((study, number) => {
    const colouring = effects[number];
    if (!colouring) return null;
    return h(
      "figure",
      { class: "small-multiple" },
      h(
        "figcaption",
        {},
        h(
          "button",
          { type: "button", class: "plain", onclick: () => choose(number) },
          `${study.name}${study.task ? ` · ${study.task}` : ""}`,
        ),
      ),
      grid(study, colouring, {
        size: study.stacks[0]?.width > 16 ? 8 : 15,
        tabs: false,
        label: `${study.name}: ${colouring.title}`,
      }),
      legend(colouring, { brief: true }),
    );
  });
  const rows = () =>
    data.studies.flatMap((study, number) =>
      study.heads.map((head, index) => ({
        study: study.name,
        head: head[3],
        value: effects[number]?.values[index] ?? null,
      })),
    );
  const meaning = effects.some((colouring) => colouring?.effect)
    ? ": orange heads are needed, the score is better without purple ones, ● significant (Kovaleva et al. 2019, Figure 8)"
    : "";
  const parts = [
    figure(
      "Studies beside each other",
      `One grid for each study, each with its own scale${meaning}. A click on a name opens it.`,
      h("div", { class: "multiples" }, boxes),
      { rows },
    ),
  ];
  if (data.agreement.length) {
    const table = h(
      "table",
      {},
      h(
        "thead",
        {},
        h("tr", {}, h("th", {}, "studies"), h("th", { class: "right" }, "rank correlation of the effects [95 %]")),
      ),
      h(
        "tbody",
        {},
        data.agreement.map((one) =>
          h(
            "tr",
            {},
            h("td", {}, `${data.studies[one.first].name} and ${data.studies[one.second].name}`),
            h("td", { class: "right" }, `${plain(one.value, 2)} [${plain(one.low, 2)}, ${plain(one.high, 2)}]`),
          ),
        ),
      ),
    );
    parts.push(
      figure(
        "Do they agree?",
        "1: the same heads matter in both; 0: nothing in common.",
        h("div", { class: "scroll" }, table),
        {
          rows: () =>
            data.agreement.map((one) => ({
              first: data.studies[one.first].name,
              second: data.studies[one.second].name,
              correlation: one.value,
              low: one.low,
              high: one.high,
            })),
        },
      ),
    );
  }
  const shares = patternsBeside(data.studies);
  return shares ? [...parts, shares] : parts;
}
