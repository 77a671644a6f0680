// Several studies beside each other by one number that they share, and how far they agree on which heads matter.
import { h, select } from "./dom.js";
import { figure } from "./download.js";
import { plain } from "./format.js";
import { grid } from "./grid.js";
import { legend } from "./legend.js";
import { patternsBeside } from "./patterns.js";

const isEffect = (colouring) => Boolean(colouring.effect);

// The numbers to compare by: the effect, whichever replacement each study used, and what several studies measured.
export function sharedNumbers(studies) {
  const counts = new Map();
  for (const study of studies)
    for (const { id, title, kind } of study.colourings)
      if (kind !== "category" || id === "roles" || id === "patterns")
        counts.set(id, { id, title, count: (counts.get(id)?.count ?? 0) + 1 });
  const effects = studies.filter((study) => study.colourings.some(isEffect)).length;
  const shared = [...counts.values()].filter((one) => one.count > 1 && !one.id.startsWith("sweep/"));
  const first = effects ? [{ id: "effect", title: "Change of the score without the head", count: effects }] : [];
  return [...first, ...shared];
}

export const numberOf = (study, id) =>
  (id === "effect" ? study.colourings.find(isEffect) : study.colourings.find((one) => one.id === id)) ?? null;

export function several(data, state, { choose, open }) {
  const numbers = sharedNumbers(data.studies);
  const holder = h("div", {});
  const draw = () => {
    const one = numbers.find(({ id }) => id === state.shared) ?? numbers[0];
    holder.replaceChildren(...(one ? [beside(data, one, numbers, { choose, open, change })] : []));
  };
  const change = (id) => {
    state.shared = id;
    draw();
  };
  draw();
  return [holder, agreement(data), patternsBeside(data.studies)].filter(Boolean);
}

function beside(data, one, numbers, { choose, open, change }) {
  const found = data.studies.map((study) => numberOf(study, one.id));
  const boxes = data.studies.map((study, number) => {
    const colouring = found[number];
    const title = `${study.name}${study.task ? ` · ${study.task}` : ""}`;
    return h(
      "figure",
      { class: "small-multiple" },
      h("figcaption", {}, h("button", { type: "button", class: "plain", onclick: () => choose(number) }, title)),
      colouring
        ? grid(study, colouring, {
            room: { width: 320, height: 260 },
            most: 18,
            tabs: false,
            label: `${study.name}: ${colouring.title}`,
            open: (index) => open(number, index),
          })
        : h("p", { class: "quiet" }, `${study.name} did not measure it.`),
      colouring ? legend(colouring, { brief: true }) : null,
    );
  });
  const rows = () =>
    data.studies.flatMap((study, number) =>
      study.heads.map((head, index) => ({
        study: study.name,
        head: head[3],
        value: found[number]?.values[index] ?? null,
      })),
    );
  const meaning =
    one.id === "effect"
      ? " Orange heads are needed, the score is better without purple ones, ● significant (Kovaleva et al. 2019, Figure 8)."
      : "";
  return figure(
    "Studies beside each other",
    `${one.title}: one grid for each study, each with its own scale.${meaning} Click a head to open it, a name to go to its study.`,
    h(
      "div",
      {},
      numbers.length > 1
        ? h(
            "div",
            { class: "controls" },
            select(
              "Compare by",
              numbers.map(({ id, title, count }) => ({ value: id, title: `${title} (${count} studies)` })),
              one.id,
              change,
            ),
          )
        : null,
      h("div", { class: "multiples" }, boxes),
    ),
    { rows, subject: one.title },
  );
}

function agreement(data) {
  if (!data.agreement.length) return null;
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "studies"),
        h("th", { scope: "col", class: "right" }, "rank correlation of the effects [95 %]"),
      ),
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
  return figure(
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
  );
}
