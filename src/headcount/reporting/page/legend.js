// What the colours mean, and a filter at once: each kind, or each step of the scale, can be chosen.

import { stepOf, stepsOf } from "./bins.js";
import { colours, setLight } from "./colour.js";
import { h, s } from "./dom.js";
import { LEVEL, plain, sure, writer } from "./format.js";

// `marks`: the number whose significant heads are marked, where it is not the one that is shown.
// `chosen`: numbers of kinds or steps; `choose(numbers)` makes them buttons.
export function legend(colouring, { brief = false, chosen = [], choose = null, marks = null } = {}) {
  const scale = colours(colouring);
  const toggle = (number) =>
    choose(
      chosen.includes(number) ? chosen.filter((one) => one !== number) : [...chosen, number].sort((a, b) => a - b),
    );
  const parts = [];
  if (colouring.kind === "category") {
    const counts = colouring.names.map((_, kind) => colouring.values.filter((value) => value === kind).length);
    const entry = (name, kind) => [swatch(scale.of(kind)), `${name} (${counts[kind]})`];
    parts.push(
      h(
        "ul",
        { class: "kinds" },
        colouring.names.map((name, kind) =>
          h(
            "li",
            {},
            choose && counts[kind]
              ? h(
                  "button",
                  {
                    type: "button",
                    class: "kind",
                    "aria-pressed": String(chosen.includes(kind)),
                    onclick: () => toggle(kind),
                  },
                  entry(name, kind),
                )
              : entry(name, kind),
          ),
        ),
      ),
    );
  } else if (choose) parts.push(stepped(colouring, scale, chosen, toggle));
  else parts.push(bar(colouring, scale));
  const notes = brief ? [] : [colouring.says];
  if (colouring.baseline !== undefined && colouring.baseline !== null)
    notes.push(`baseline ${plain(colouring.baseline, 3)}`);
  if (colouring.q && !brief)
    notes.push(`● significant (q < ${LEVEL}, corrected for all ${colouring.tested ?? "heads"})`);
  if (marks?.q && !brief) {
    const count = marks.values.filter((_, index) => sure(marks, index)).length;
    notes.push(
      count ? `● without it the score changes significantly (q < ${LEVEL})` : "no head's effect is significant",
    );
  }
  parts.push(h("p", { class: "says" }, notes.filter(Boolean).join(" · ")));
  return h("div", { class: "legend" }, parts);
}

function bar(colouring, scale) {
  const [low, high] = [scale.domain[0], scale.domain.at(-1)];
  const write = writer(colouring);
  const white = colours(colouring, { dark: false });
  const steps = 40;
  const value = (index) => low + ((index + 0.5) / steps) * (high - low);
  const drawn = s(
    "svg",
    { viewBox: "0 0 240 12", width: 240, height: 12, "aria-hidden": "true", class: "bar" },
    Array.from({ length: steps }, (_, index) =>
      setLight(
        s("rect", {
          x: (index * 240) / steps,
          y: 0,
          width: 240 / steps + 0.5,
          height: 12,
          fill: scale.of(value(index)),
        }),
        () => ({ fill: white.of(value(index)) }),
      ),
    ),
  );
  return h(
    "div",
    { class: "scale" },
    h("span", {}, write(low)),
    drawn,
    h("span", {}, write(high)),
    h("span", { class: "unit" }, colouring.unit),
  );
}

// The scale in steps with the number of heads in each as a bar above it.
function stepped(colouring, scale, chosen, toggle) {
  const steps = stepsOf(colouring, scale.domain);
  const counts = steps.map(() => 0);
  for (const value of colouring.values) if (stepOf(steps, value) >= 0) counts[stepOf(steps, value)]++;
  const most = Math.max(...counts, 1);
  const write = writer(colouring);
  const white = colours(colouring, { dark: false });
  const buttons = steps.map(([from, to], step) => {
    const colour = scale.of((from + to) / 2);
    const tall = counts[step] ? Math.max(2, Math.round((24 * counts[step]) / most)) : 0;
    return h(
      "button",
      {
        type: "button",
        class: "step-choice",
        "aria-pressed": String(chosen.includes(step)),
        "aria-label": `${write(from)} to ${write(to)}: ${counts[step]} heads`,
        title: `${write(from)} to ${write(to)}: ${counts[step]} heads`,
        disabled: counts[step] === 0,
        onclick: () => toggle(step),
      },
      s(
        "svg",
        { viewBox: "0 0 34 38", width: 34, height: 38, "aria-hidden": "true" },
        s("rect", { x: 9, y: 24 - tall, width: 16, height: tall, class: "count-bar" }),
        setLight(s("rect", { x: 0, y: 26, width: 34, height: 12, fill: colour }), () => ({
          fill: white.of((from + to) / 2),
        })),
      ),
    );
  });
  return h(
    "div",
    { class: "scale" },
    h("span", {}, write(steps[0][0])),
    h("div", { class: "steps", role: "group", "aria-label": `Filter by ${colouring.title}` }, buttons),
    h("span", {}, write(steps.at(-1)[1])),
    h("span", { class: "unit" }, colouring.unit),
  );
}

export const swatch = (colour) =>
  s(
    "svg",
    { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true", class: "swatch" },
    s("rect", { width: 12, height: 12, rx: 2, fill: colour }),
  );
