// Light or dark: as the system has it, until someone or the link says otherwise.
import { h } from "./dom.js";

const system = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;

function apply() {
  const dark = chosen === null ? system.matches : chosen === "dark";
  document.documentElement.dataset.dark = dark ? "yes" : "no";
  return dark;
}

export const setTheme = (wanted) => {
  chosen = wanted;
  apply();
};

export const chosenTheme = () => chosen;

export function theme(changed) {
  const button = h("button", {
    type: "button",
    class: "small",
    onclick: () => {
      chosen = apply() ? "light" : "dark";
      show();
      changed();
    },
  });
  const show = () => {
    const dark = apply();
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  };
  system.addEventListener("change", () => {
    show();
    changed();
  });
  show();
  return { button, show };
}
