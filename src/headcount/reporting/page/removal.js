// Which heads go first, and the score with so many of them gone: a slider along the curve of a pruning run.
import { h, s, select } from "./dom.js";
import { digitsFor, fixed, plain } from "./format.js";

// The curves whose order of heads is known, each order that is no random one with its place.
export function removals(study) {
  return study.removals.flatMap((told) => {
    const curve = study.curves.find((one) => one.name === told.curve);
    if (!curve) return [];
    return told.orders
      .map((heads, at) => ({
        curve,
        heads,
        at,
        order: curve.lines[at]?.order,
        chosen: at ? null : told.chosen,
        safe: told.safe,
      }))
      .filter((one) => one.heads.length && one.order);
  });
}

// The order as numbers by head, as the grid colours them: 1 goes first.
export function orderColouring(study, told) {
  const values = study.heads.map(() => null);
  told.heads.forEach((index, at) => {
    values[index] = at + 1;
  });
  return {
    id: "order",
    title: `Order in which heads go (${told.order})`,
    group: "",
    unit: "",
    says: "1 goes first: the least important head by this order",
    kind: "sequential",
    reversed: true,
    whole: true,
    values,
  };
}

// The step of the curve at which so many heads are gone, or the last one before it.
export function stepAt(curve, gone) {
  let step = -1;
  curve.removed.forEach((count, at) => {
    if (count <= gone) step = at;
  });
  return step;
}

export function scoreWords({ curve, at, chosen, safe, order }, gone) {
  const step = stepAt(curve, gone);
  const half = curve.name.endsWith("-confirming") ? "held-out " : "";
  if (step < 0) return `All heads: ${curve.metric} ${plain(curve.baseline)} on ${curve.examples} ${half}examples.`;
  const line = curve.lines[at];
  const count = curve.removed[step];
  if (line.score[step] === null) return `Without ${count} heads: not measured.`;
  const digits = digitsFor(line.low[step], line.high[step]) ?? 3;
  const from = (value) => fixed(value - curve.baseline, digits, true);
  const randoms = curve.lines.filter((one) => one.order.startsWith("random") && one.score[step] !== null);
  const mean = randoms.reduce((sum, one) => sum + one.score[step], 0) / randoms.length;
  const which = randoms.length === 1 ? "a random order" : `the mean of ${randoms.length} random orders`;
  const control = randoms.length ? `; ${which}: ${from(mean)}` : "";
  const nearest = count === gone ? "" : ` (the measured step nearest below ${gone})`;
  const how = safe
    ? "This is the selected cut"
    : "This cut was selected by its point estimate alone: none is shown to be safe";
  const selected = count === chosen ? ` ${how}.` : "";
  return (
    `Without ${count} of ${curve.heads} heads${nearest}, by ${order}: ${curve.metric} ${fixed(line.score[step], digits)}, ` +
    `a change of ${from(line.score[step])} [${from(line.low[step])}, ${from(line.high[step])}] on ` +
    `${curve.examples} ${half}examples${control}.${selected}`
  );
}

// The slider with what it says, and the marker on the drawn curve. `change(gone)` is called as it moves, `settled()`
// where it stops.
export function removalPanel(all, which, gone, { change, choose, drawn, settled }) {
  const told = all[which];
  const words = h("p", { class: "removal-words", "aria-live": "polite" }, scoreWords(told, gone));
  const slider = h("input", {
    type: "range",
    min: 0,
    max: told.heads.length,
    step: 1,
    value: gone,
    "aria-label": "Heads removed",
    onchange: settled,
    "aria-valuetext": `${gone} of ${told.heads.length} heads removed`,
    oninput: (event) => {
      const now = Number(event.target.value);
      words.textContent = scoreWords(told, now);
      slider.setAttribute("aria-valuetext", `${now} of ${told.heads.length} heads removed`);
      place(now);
      change(now);
    },
  });
  const svg = drawn.querySelector("svg.drawing");
  const marker = s("line", { class: "curve-marker", "aria-hidden": "true" });
  const { left, right, top, bottom } = svg?.dataset.frame ? JSON.parse(svg.dataset.frame) : {};
  const place = (now) => {
    if (left === undefined) return;
    const x = left + ((right - left) * now) / told.curve.heads;
    for (const [key, value] of Object.entries({ x1: x, x2: x, y1: top, y2: bottom })) marker.setAttribute(key, value);
  };
  if (left !== undefined) {
    svg.append(marker);
    place(gone);
  }
  return h(
    "div",
    { class: "removal" },
    all.length > 1
      ? select(
          "Order of heads",
          all.map((one, at) => ({ value: String(at), title: `${one.order}${orderOf(one.curve.name)}` })),
          String(which),
          (value) => choose(Number(value)),
        )
      : null,
    h("label", { class: "choice slider" }, h("span", {}, "Heads removed"), slider),
    words,
    drawn,
  );
}

const orderOf = (name) => {
  const [, run] = /^curve(?:@(.*?))?(?:-confirming)?$/.exec(name) ?? [];
  return run && run !== "prune" ? ` (${run})` : "";
};
