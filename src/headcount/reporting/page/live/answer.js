// The answer of the whole model beside that without the heads that are off, with the difference.
import { h, s } from "../dom.js";
import { plain, shorten, signed } from "../format.js";

// Probabilities need no more than three digits; what rounds to nothing is nothing.
const share = (value) => (Math.abs(value) < 0.0005 ? "0.000" : plain(value));
const shareChange = (value) => (Math.abs(value) < 0.0005 ? "0.000" : signed(value));

const bestOf = (question, which) =>
  question.options.reduce((best, option) => (option[which] > (best?.[which] ?? -Infinity) ? option : best), null);

export const spoken = (name) => (/^\s|\s$/.test(name) || name === "" ? `“${name}”` : name);

// One question in a sentence: what the answer is, and what becomes of it.
export function inOneLine(model, question, count) {
  const whole = bestOf(question, "whole");
  if (!model.probabilities && question.options.length === 1)
    return count
      ? `${plain(whole.whole)} → ${plain(whole.without)} (${signed(whole.difference)})`
      : `The answer is ${plain(whole.whole)}.`;
  if (!count) return `${spoken(whole.name)}, ${plain(whole.whole, 2)}`;
  const without = bestOf(question, "without");
  return question.changed
    ? `${spoken(whole.name)} ${plain(whole.whole, 2)} → ${spoken(without.name)} ${plain(without.without, 2)}`
    : `${spoken(whole.name)} ${plain(whole.whole, 2)} → ${plain(whole.without, 2)}`;
}

// `found`: the server's answer. `count`: how many heads are off. `choose(number)` takes another question.
export function answerView(model, found, { count, question, choose, choices }) {
  const { questions } = found;
  if (!questions.length) return [h("p", { class: "note" }, capital(found.note ?? "This text asks nothing."), ".")];
  const number = Math.min(question, questions.length - 1);
  const one = questions[number];
  return [
    questions.length > 1 ? several(model, questions, number, count, choose) : null,
    headline(model, one, count, questions.length > 1),
    table(model, one, count, choices),
  ].filter(Boolean);
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function headline(model, question, count, isOneOfMany) {
  const changed = count && question.changed;
  const what = isOneOfMany ? `${question.title}: ` : "";
  return h(
    "p",
    { class: `headline${changed ? " changed" : ""}` },
    h("b", {}, what, inOneLine(model, question, count)),
    count && question.options.length > 1
      ? h("span", { class: "verdict-word" }, changed ? "the answer changes" : "the answer stays")
      : null,
  );
}

const without = (count) => `without ${count} ${count === 1 ? "head" : "heads"}`;

function table(model, question, count, choices) {
  const bars = model.probabilities;
  const top = topOf(question);
  const [write, change] = bars ? [share, shareChange] : [plain, signed];
  const header = [
    h("th", { scope: "col" }, model.writes || model.mask ? "token" : "answer"),
    bars
      ? h(
          "th",
          { scope: "col", class: "bars" },
          h("span", { class: "unseen-name" }, top < 1 ? `bars, up to ${top}` : "both as bars"),
        )
      : null,
    h("th", { scope: "col", class: "right" }, key("whole"), "whole model"),
    h("th", { scope: "col", class: "right" }, key("without"), count ? without(count) : "without heads"),
    h("th", { scope: "col", class: "right" }, "difference"),
  ];
  const rest = question.rest;
  const row = (name, values, title) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", title }, name),
      bars ? h("td", { class: "bars" }, values === rest && top < 1 ? null : bar(values, count, top)) : null,
      h("td", { class: "right" }, write(values.whole)),
      h("td", { class: "right" }, count ? write(values.without) : "–"),
      h("td", { class: `right ${count ? tone(values) : ""}` }, count ? change(values.without - values.whole) : "–"),
    );
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "Answers with their probabilities" },
    h(
      "table",
      { class: "answers" },
      h("thead", {}, h("tr", {}, header)),
      h(
        "tbody",
        {},
        question.options.map((option) => row(nameOf(model, option, choices), option)),
        rest && rest.whole + (rest.without ?? 0) > 0.0005
          ? row(h("span", { class: "quiet" }, "all others"), rest)
          : null,
      ),
    ),
  );
}

// Where a longest bar ends: at 1, or where all probabilities are small, at the next of these.
const TOPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
export const topOf = ({ options }) => {
  const most = Math.max(...options.flatMap(({ whole, without: other }) => [whole, other ?? 0]));
  return TOPS.find((top) => most <= top) ?? 1;
};

// Below 0.0005 neither a gain nor a loss.
const tone = ({ whole, without: other }) => (Math.abs(other - whole) < 0.0005 ? "" : other > whole ? "gains" : "loses");

function nameOf(model, option, choices) {
  if (model.kind === "multiple-choice" && choices?.[option.option])
    return `${option.name}: ${shorten(choices[option.option], 60)}`;
  // Spaces are part of a token; a line break would be none, and of spaces alone nothing would be seen.
  const token = option.name.replaceAll("\n", "⏎");
  return model.writes || model.mask ? h("code", {}, token.trim() ? token : token.replace(/\s/g, "␣")) : option.name;
}

const key = (which) =>
  s(
    "svg",
    { viewBox: "0 0 10 10", width: 10, height: 10, class: "key", "aria-hidden": "true" },
    s("rect", { width: 10, height: 10, class: `bar-${which}-model` }),
  );

const WIDE = 120;
const bar = ({ whole, without: other }, count, top) =>
  s(
    "svg",
    {
      viewBox: `0 0 ${WIDE} 16`,
      width: WIDE,
      height: 16,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
      class: "two-bars",
    },
    s("rect", { x: 0, y: 1, height: 6, width: Math.max(0.5, (WIDE * whole) / top), class: "bar-whole-model" }),
    count
      ? s("rect", { x: 0, y: 9, height: 6, width: Math.max(0.5, (WIDE * other) / top), class: "bar-without-model" })
      : null,
  );

// Every word or masked word in a row of its own; a click shows all of its options.
function several(model, questions, chosen, count, choose) {
  const seen = new Map();
  return h(
    "div",
    { class: "scroll questions", tabindex: 0, role: "group", "aria-label": "Every answer of this text" },
    h(
      "ul",
      { class: "kinds" },
      questions.map((question, number) => {
        seen.set(question.title, (seen.get(question.title) ?? 0) + 1);
        const again = seen.get(question.title);
        const twice = questions.filter(({ title }) => title === question.title).length > 1;
        return h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: `small question${count && question.changed ? " changed" : ""}`,
              "aria-pressed": String(number === chosen),
              onclick: () => choose(number),
            },
            h("span", { class: "quiet" }, `${question.title}${twice ? ` ${again}` : ""}: `),
            inOneLine(model, question, count),
          ),
        );
      }),
    ),
  );
}

// What both models write; where they part, the rest is marked.
export function continuations(written, count) {
  if (!written.whole) return null;
  const same = count && written.without ? commonStart(written.whole.text, written.without.text) : Infinity;
  const side = (which, title) =>
    written[which]
      ? h(
          "div",
          { class: "written" },
          h("h4", {}, key(which), title),
          h(
            "p",
            {},
            written[which].text.slice(0, same),
            same < written[which].text.length ? h("mark", {}, written[which].text.slice(same)) : null,
            written[which].done ? "" : h("span", { class: "quiet" }, " …"),
          ),
        )
      : null;
  return h(
    "div",
    { class: "continuations" },
    side("whole", "The whole model writes"),
    count ? side("without", `${capital(without(count))}`) : null,
  );
}

// Up to the last word that both have.
export function commonStart(a, b) {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  if (at === a.length && at === b.length) return at;
  while (at > 0 && !/\s/.test(a[at - 1])) at--;
  return at;
}
