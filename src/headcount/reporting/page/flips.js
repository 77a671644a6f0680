// What changes without a head: the examples that are answered otherwise, with badges, in slices of choice.
import { h, select } from "./dom.js";
import { wordChanges } from "./word_changes.js";

export function flips(study, index) {
  const section = (title, sweeps) =>
    sweeps.length
      ? h(
          "section",
          { class: "wide" },
          h("h3", {}, title),
          sweeps.map((one) => told(one, index)),
        )
      : null;
  return [
    section(
      "What changes without it",
      study.flips.filter((one) => !one.patched),
    ),
    section(
      "What changes with it from the other input",
      study.flips.filter((one) => one.patched),
    ),
  ].filter(Boolean);
}

// What became of one example: "now wrong", "now right" and so on.
export function verdictOf(one, text, now) {
  const { label, whole, given } = text;
  if (one.patched) return now === given ? `as on the ${one.patched.given} input` : "changed";
  if (!one.classes || label === null) return "changed";
  return whole === label ? "now wrong" : now === label ? "now right" : "wrong before and after";
}

const wordsOf = ({ text }) => text.text.join(" ").split(/\s+/).filter(Boolean).length;

// Half of the texts are at most so long; null where all are of one length.
function middleLength(rows) {
  const lengths = rows.map(wordsOf).sort((a, b) => a - b);
  const middle = lengths[Math.floor((lengths.length - 1) / 2)];
  return lengths.at(-1) > middle ? middle : null;
}

function told(one, index) {
  const found = one.heads[index];
  const { ran, given } = one.patched ?? {};
  const how = one.patched ? `with it from the ${given} input` : "without it";
  const examples = one.patched ? `${ran} examples` : "examples";
  if (!found) {
    const start = `${how[0].toUpperCase()}${how.slice(1)}`;
    return h("p", {}, `${start} the model answers all ${one.examples} ${examples} as before.`);
  }
  const rows = found.shown.map(([number, now]) => {
    const text = one.texts[number];
    return { text, now, verdict: verdictOf(one, text, now) };
  });
  const list = h("ol", { class: "flips" });
  const slices = { verdict: "", label: "", length: "" };
  const middle = middleLength(rows);
  const fits = (row) =>
    (!slices.verdict || row.verdict === slices.verdict) &&
    (!slices.label || row.text.label === slices.label) &&
    (!slices.length || wordsOf(row) > middle === (slices.length === "over"));
  const draw = () => {
    const kept = rows.filter(fits);
    list.replaceChildren(
      ...(kept.length ? kept.map((row) => item(one, row)) : [h("li", { class: "quiet" }, "No example in this slice.")]),
    );
  };
  draw();
  const more = found.count > found.shown.length ? ` The first ${found.shown.length}:` : "";
  const count = `${found.count} of ${one.examples} ${examples}`;
  return [h("p", {}, `${count} are answered otherwise ${how}.${more}`), choices(rows, middle, slices, draw), list];
}

function choices(rows, middle, slices, draw) {
  const unlike = (values) => [...new Set(values.filter((value) => value !== null && value !== undefined))];
  const one = (label, key, values, titles = {}) =>
    values.length > 1
      ? select(
          label,
          [{ value: "", title: "all" }, ...values.map((value) => ({ value, title: titles[value] ?? value }))],
          "",
          (value) => {
            slices[key] = value;
            draw();
          },
        )
      : null;
  const lengths = middle === null ? [] : ["to", "over"];
  const words = `${middle} word${middle === 1 ? "" : "s"}`;
  const parts = [
    one("Now", "verdict", unlike(rows.map(({ verdict }) => verdict))),
    one("Label", "label", unlike(rows.map(({ text }) => text.label))),
    one("Length", "length", lengths, { to: `up to ${words}`, over: `over ${words}` }),
  ].filter(Boolean);
  return parts.length ? h("div", { class: "controls slices" }, parts) : null;
}

function item(one, { text, now, verdict }) {
  const { label, whole, cues, marks } = text;
  const after = one.classes
    ? now
    : wordChanges(whole, now).map(([word, changed]) => [changed ? h("mark", { title: "changed" }, word) : word, " "]);
  return h(
    "li",
    {},
    text.text.map((part, at) => h("p", { class: "text" }, marked(part, marks?.[at] ?? []))),
    h(
      "p",
      { class: `verdict ${verdict.replaceAll(" ", "-")}` },
      one.classes ? `${whole} → ${now}` : [`${whole} → `, after],
      // The label of a pair is that of its clean input.
      label === null || one.patched ? " " : ` (label: ${label}) `,
      h("b", { class: "badge" }, verdict),
      cues ? h("span", { class: "cue-says" }, `, ${cues}`) : "",
    ),
  );
}

/** A text with some of its characters marked. */
export function marked(text, spans, title = "a cue word") {
  const parts = [];
  let end = 0;
  for (const [from, to] of spans) {
    parts.push(text.slice(end, from), h("mark", { title }, text.slice(from, to)));
    end = to;
  }
  return [...parts, text.slice(end)];
}
