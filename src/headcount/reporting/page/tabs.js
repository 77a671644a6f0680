// The three questions of the page, as tabs over the same grid.
import { h } from "./dom.js";

export const QUESTIONS = [
  { id: "do", title: "What does each head do?" },
  { id: "without", title: "What happens without it?", patched: "What does it carry?" },
  { id: "small", title: "How small can it get?" },
];

// `carries`: whether the study patched heads and left none out.
export function tabs(chosen, choose, { carries = false } = {}) {
  const buttons = QUESTIONS.map(({ id, title, patched }) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${id}`,
        "aria-selected": String(id === chosen),
        "aria-controls": "stage",
        tabindex: id === chosen ? 0 : -1,
        onclick: () => choose(id),
      },
      carries && patched ? patched : title,
    ),
  );
  const node = h("div", { role: "tablist", class: "tabs", "aria-label": "Questions" }, buttons);
  node.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = QUESTIONS.findIndex(({ id }) => id === chosen);
    const to = event.key === "Home" ? 0 : event.key === "End" ? 2 : by ? (at + by + 3) % 3 : -1;
    if (to < 0) return;
    event.preventDefault();
    choose(QUESTIONS[to].id, true);
  });
  return node;
}
