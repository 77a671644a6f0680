// Printing: everything is unfolded and light, as downloads are, and as it was before when that is done.
import { lightOf } from "./colour.js";
import { repaint } from "./maps.js";

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
  for (const canvas of document.querySelectorAll("canvas")) repaint(canvas, false);
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
  if (before.dark === "yes") for (const canvas of document.querySelectorAll("canvas")) repaint(canvas, true);
  for (const node of before.folded) node.open = false;
  for (const [node, name, value] of before.changed) node.setAttribute(name, value);
  before = null;
}

export function onPaper() {
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
}
