// What to do first, said once: gone for good when it is dismissed, where the browser remembers.
import { h } from "./dom.js";

const KEY = "headcount-hint";

const stored = (work) => {
  try {
    return work(globalThis.localStorage);
  } catch {
    return null;
  }
};

export function hint(withMaps) {
  if (stored((memory) => memory.getItem(KEY))) return null;
  const what = withMaps ? "a small picture of where it looks" : "coloured by what is known of it";
  const node = h(
    "p",
    { class: "hint" },
    `Each row is a layer, each square an attention head, ${what}. Point at one to read what it does, click it for everything.`,
    " ",
    h(
      "button",
      {
        type: "button",
        class: "small",
        "aria-label": "Got it: dismiss this hint",
        onclick: () => {
          stored((memory) => memory.setItem(KEY, "seen"));
          node.remove();
        },
      },
      "Got it",
    ),
  );
  return node;
}
