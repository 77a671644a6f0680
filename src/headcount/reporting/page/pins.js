// Heads that are pinned to be compared: a strip with their names, and the heads side by side.
import { h } from "./dom.js";
import { explained } from "./glossary.js";
import { headMap } from "./head_map.js";
import { headStrip } from "./head_strip.js";
import { mapTexts } from "./map_texts.js";
import { effectWords, patchWords, patternWords, roleWords, sharedWords, strengthWords } from "./told_heads.js";

export const MOST_PINS = 3;

export function pinStrip(study, pins, { unpin, compare }) {
  return h(
    "div",
    { class: "pins", role: "region", "aria-label": "Pinned heads", hidden: pins.length === 0 },
    h("span", {}, "Pinned:"),
    pins.map((index) =>
      h(
        "button",
        { type: "button", class: "small", "aria-label": `Unpin ${study.heads[index][3]}`, onclick: () => unpin(index) },
        `${study.heads[index][3]} ✕`,
      ),
    ),
    pins.length > 1
      ? h("button", { type: "button", class: "small strong", onclick: compare }, "Compare")
      : h("span", { class: "quiet" }, `pin up to ${MOST_PINS} heads to compare them`),
  );
}

export function comparison(study, pins, { text, close, open }) {
  const one = mapTexts(study)[text];
  const columns = pins.map((index) => {
    const [, , , name] = study.heads[index];
    const role = roleWords(study, index);
    const pattern = patternWords(study, index);
    const facts = [
      strengthWords(study, index),
      pattern ? `Its maps are mostly ${pattern}.` : "",
      effectWords(study, index) || patchWords(study, index),
      sharedWords(study, index),
    ];
    const told = h("p", { class: "caption told" });
    const strip = headStrip(study, index, { narrow: true });
    const map = h("div", {});
    if (one)
      headMap(study, study.heads[index], one, 0, { told, room: 300 }).then((parts) => map.append(parts.first, told));
    return h(
      "section",
      { class: "compared", "aria-label": `Head ${name}` },
      h(
        "div",
        { class: "head-name" },
        h("h3", {}, h("button", { type: "button", class: "plain", onclick: () => open(index) }, name)),
        role ? h("p", {}, role) : null,
      ),
      h(
        "div",
        {},
        facts.filter(Boolean).map((fact) => h("p", {}, explained(fact))),
      ),
      map,
      strip ?? h("div", {}),
    );
  });
  return h(
    "div",
    { class: "head-page" },
    h(
      "header",
      {},
      h(
        "div",
        {},
        h("h2", { id: "head-title", tabindex: -1 }, "Heads side by side"),
        one ? h("p", { class: "caption" }, one.title) : null,
      ),
      h(
        "nav",
        { "aria-label": "This comparison" },
        h("button", { type: "button", class: "small close", "aria-label": "Close", onclick: close }, "✕"),
      ),
    ),
    h("div", { class: "compare-columns" }, columns),
  );
}
