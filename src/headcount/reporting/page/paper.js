// Printing: everything is unfolded and light, as downloads are, and as it was before when that is done.
import { lightOf } from "./colour.js";

let before = null;

function toPaper() {
  if (before) return;
  const { dataset } = document.documentElement;
  before = { dark: dataset.dark, folded: [], changed: [] };
  for (const node of document.querySelectorAll("details:not([open])")) {
    before.folded.push(node);
    node.open = true;
  }
  if (dataset.dark !== "yes") return;
  dataset.dark = "no";
  dataset.paintedDark = "yes";
  for (const node of document.querySelectorAll("svg *"))
    for (const [name, value] of Object.entries(lightOf(node))) {
      if (!value) continue;
      before.changed.push([node, name, node.getAttribute(name)]);
      node.setAttribute(name, value);
    }
}

function fromPaper() {
  if (!before) return;
  const { dataset } = document.documentElement;
  dataset.dark = before.dark;
  delete dataset.paintedDark;
  for (const node of before.folded) node.open = false;
  for (const [node, name, value] of before.changed) node.setAttribute(name, value);
  before = null;
}

export function onPaper() {
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
}
