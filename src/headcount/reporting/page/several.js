// Several studies beside each other by one number that they share, and how far they agree on which heads matter.
import { h, select } from "./dom.js";
import { figure } from "./download.js";
import { cellOf, plain } from "./format.js";
import { grid } from "./grid.js";
import { legend } from "./legend.js";
import { patternsBeside } from "./patterns.js";

const isEffect = (colouring) => Boolean(colouring.effect);

// The numbers to compare by: what all studies have comes first, the effect before all else.
export function sharedNumbers(studies) {
  const counts = new Map();
  for (const study of studies)
    for (const { id, title, kind } of study.colourings)
      if (kind !== "category" || id === "roles" || id === "patterns")
        counts.set(id, { id, title, count: (counts.get(id)?.count ?? 0) + 1 });
  const effects = studies.map((study) => study.colourings.find(isEffect)).filter(Boolean);
  const shared = [...counts.values()].filter((one) => one.count > 1 && !one.id.startsWith("sweep/"));
  const titles = new Set(effects.map(({ unit }) => unit));
  const title =
    titles.size === 1 ? `Change of ${[...titles]} without the head` : "Change of the score without the head";
  const first = effects.length ? [{ id: "effect", title, count: effects.length }] : [];
  const everywhere = (one) => one.count === studies.length;
  const all = [...first, ...shared];
  return [...all.filter(everywhere), ...all.filter((one) => !everywhere(one))];
}

// The same number of several studies on one scale, where its unit is the same in all.
export function onOneScale(colourings) {
  const known = colourings.filter(Boolean);
  const [first] = known;
  const alike = known.every(({ kind, unit }) => kind !== "category" && kind === first.kind && unit === first.unit);
  if (!alike || known.length < 2) return { colourings, shared: false };
  const every = known.flatMap(({ values }) => values.filter((value) => value !== null));
  const span = every.length ? [Math.min(...every), Math.max(...every)] : [];
  return { colourings: colourings.map((one) => one && { ...one, span }), shared: true };
}

export const numberOf = (study, id) =>
  (id === "effect" ? study.colourings.find(isEffect) : study.colourings.find((one) => one.id === id)) ?? null;

export function several(data, state, { choose, open, remember }) {
  const numbers = sharedNumbers(data.studies);
  const holder = h("div", {});
  const draw = () => {
    const one = numbers.find(({ id }) => id === state.shared) ?? numbers[0];
    holder.replaceChildren(...(one ? [beside(data, one, numbers, { choose, open, change })] : []));
  };
  const change = (id) => {
    state.shared = id === numbers[0].id ? null : id;
    draw();
    remember();
  };
  draw();
  return [holder, agreement(data), patternsBeside(data.studies)].filter(Boolean);
}

function beside(data, one, numbers, { choose, open, change }) {
  const { colourings: found, shared } = onOneScale(data.studies.map((study) => numberOf(study, one.id)));
  const differ = new Set(found.filter((colouring) => colouring?.how).map(({ how }) => how)).size > 1;
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
            most: 30,
            tabs: false,
            label: `${study.name}: ${colouring.title}`,
            open: (index) => open(number, index),
          })
        : h("p", { class: "quiet" }, `${study.name} did not measure it.`),
      colouring && differ ? h("p", { class: "quiet" }, `Replacement: ${colouring.how}.`) : null,
      colouring ? legend(colouring, { brief: true }) : null,
    );
  });
  const rows = () =>
    data.studies.flatMap((study, number) =>
      study.heads.map((head, index) => ({
        study: study.name,
        model: study.model,
        task: study.task,
        head: head[3],
        number: found[number]?.title ?? one.title,
        value: cellOf(found[number], index),
        unit: found[number]?.unit ?? "",
        low: found[number]?.low?.[index] ?? null,
        high: found[number]?.high?.[index] ?? null,
      })),
    );
  const meaning =
    one.id === "effect"
      ? " Orange: the score is worse without the head, purple: better; ● significant (Kovaleva et al. 2019, Figure 8)."
      : "";
  const scale = shared ? "all on one scale" : "each with its own scale";
  return figure(
    "Studies beside each other",
    `${one.title}: one grid for each study, ${scale}.${meaning} Click a head to open it, a name to go to its study.`,
    h(
      "div",
      {},
      numbers.length > 1
        ? h(
            "div",
            { class: "controls" },
            select(
              "Compare by",
              numbers.map(({ id, title, count }) => ({
                value: id,
                title: `${title} (${count === data.studies.length ? "all" : count} studies)`,
              })),
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
