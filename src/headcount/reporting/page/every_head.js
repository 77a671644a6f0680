// The section on every head: one or two grids with their colourings, filters, and one colouring against the other.
import { h, select } from "./dom.js";
import { figure } from "./download.js";
import { plain } from "./format.js";
import { grid } from "./grid.js";
import { legend } from "./legend.js";
import { scatter } from "./scatter.js";

// `redraw` changes the state and draws the section again, `refresh` only dims what the filters leave out.
export function everyHead(study, colouring, beside, state, { shared, redraw, refresh }) {
  const size = squareSize(study.stacks);
  return [
    h("h2", { id: "grid" }, "Every head"),
    h(
      "p",
      { class: "caption" },
      "A row is a layer, a square is a head. Click a head (or press Enter) to see what it does; arrow keys move.",
    ),
    controls(study, colouring, state, redraw, refresh, shared),
    h(
      "div",
      { class: "pair" },
      colouredGrid(study, colouring, { ...shared, size }),
      beside ? colouredGrid(study, beside, { ...shared, size }) : null,
      beside ? scatter(study, colouring, beside, shared) : null,
      h("div", { id: "list" }),
    ),
  ];
}

function squareSize(stacks) {
  const widest = Math.max(...stacks.map((stack) => stack.width)),
    deepest = Math.max(...stacks.map((stack) => stack.layers.length));
  return Math.max(7, Math.min(30, Math.floor(640 / widest), Math.floor(760 / Math.max(deepest, 12))));
}

function controls(study, colouring, state, redraw, refresh, { matches, open }) {
  const options = study.colourings.map((each) => ({ value: each.id, title: each.title, group: each.group }));
  const filter = (change) => {
    Object.assign(state, change);
    refresh();
  };
  const input = (label, attributes, key) =>
    h(
      "label",
      { class: "choice" },
      h("span", {}, label),
      h("input", { ...attributes, value: state[key], oninput: (event) => filter({ [key]: event.target.value }) }),
    );
  const enter = (event) => {
    const first = study.heads.findIndex((_, index) => matches(index));
    if (event.key === "Enter" && state.find && first >= 0) open(first);
  };
  const significant = h("input", {
    type: "checkbox",
    checked: state.only,
    onchange: (event) => filter({ only: event.target.checked }),
  });
  return h(
    "div",
    { class: "controls" },
    select("Colour by", options, colouring.id, (value) =>
      redraw({ colouring: value, sort: null, kind: "", least: "" }),
    ),
    select("Beside it", [{ value: "", title: "nothing" }, ...options], state.beside, (value) =>
      redraw({ beside: value, sort: null }),
    ),
    input("Find a head", { type: "search", placeholder: "L3H7", size: 8, onkeydown: enter }, "find"),
    colouring.kind === "category"
      ? select("Only", kindsOf(colouring), state.kind, (kind) => filter({ kind }))
      : input("At least", { type: "number", step: "any", placeholder: plain(0, 1), class: "number" }, "least"),
    colouring.q ? h("label", { class: "choice check" }, significant, h("span", {}, "only significant ones")) : null,
  );
}

const kindsOf = (colouring) => [
  { value: "", title: "all heads" },
  ...colouring.names.map((title, kind) => ({ value: String(kind), title })),
];

function colouredGrid(study, colouring, options) {
  const value = (index) =>
    colouring.kind === "category" && colouring.values[index] !== null
      ? colouring.names[colouring.values[index]]
      : colouring.values[index];
  const rows = () =>
    study.heads.map((head, index) => ({
      head: head[3],
      value: value(index),
      low: colouring.low?.[index] ?? null,
      high: colouring.high?.[index] ?? null,
      q: colouring.q?.[index] ?? null,
    }));
  const content = h("div", { class: "with-legend" }, grid(study, colouring, options), legend(colouring));
  return figure(colouring.title, null, content, { level: "h3", rows });
}
