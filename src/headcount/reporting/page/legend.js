// What the colours mean: the scale with its unit and direction, the kinds by name, and what a dot says.

import { colours } from "./colour.js";
import { h, s } from "./dom.js";
import { LEVEL, plain, writer } from "./format.js";

export function legend(colouring, { brief = false } = {}) {
  const scale = colours(colouring);
  const parts = [];
  if (colouring.kind === "category") {
    const counts = colouring.names.map((_, kind) => colouring.values.filter((value) => value === kind).length);
    parts.push(
      h(
        "ul",
        { class: "kinds" },
        colouring.names.map((name, kind) => h("li", {}, swatch(scale.of(kind)), `${name} (${counts[kind]})`)),
      ),
    );
  } else {
    const [low, high] = [scale.domain[0], scale.domain.at(-1)];
    const write = writer(colouring);
    const steps = 40;
    const bar = s(
      "svg",
      { viewBox: "0 0 240 12", width: 240, height: 12, "aria-hidden": "true", class: "bar" },
      Array.from({ length: steps }, (_, index) =>
        s("rect", {
          x: (index * 240) / steps,
          y: 0,
          width: 240 / steps + 0.5,
          height: 12,
          fill: scale.of(low + ((index + 0.5) / steps) * (high - low)),
        }),
      ),
    );
    parts.push(
      h(
        "div",
        { class: "scale" },
        h("span", {}, write(low)),
        bar,
        h("span", {}, write(high)),
        h("span", { class: "unit" }, colouring.unit),
      ),
    );
  }
  const notes = brief ? [] : [colouring.says];
  if (colouring.baseline !== undefined) notes.push(`baseline ${plain(colouring.baseline, 4)}`);
  if (colouring.q && !brief)
    notes.push(`● significant (q < ${LEVEL}, corrected for all ${colouring.tested ?? "heads"})`);
  parts.push(h("p", { class: "says" }, notes.filter(Boolean).join(" · ")));
  return h("div", { class: "legend" }, parts);
}

export const swatch = (colour) =>
  s(
    "svg",
    { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true", class: "swatch" },
    s("rect", { width: 12, height: 12, fill: colour }),
  );
