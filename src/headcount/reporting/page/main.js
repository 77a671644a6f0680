// The page: reads its data, draws its parts, and follows what people choose, click, type and link to.
import { findings, gaps, provenance } from "./about.js";
import { costs } from "./costs.js";
import { curves } from "./curves.js";
import { h, select } from "./dom.js";
import { figure } from "./download.js";
import { dynamics } from "./dynamics.js";
import { embedding } from "./embedding.js";
import { plain, shown, sure } from "./format.js";
import { grid } from "./grid.js";
import { headPage } from "./head.js";
import { histogram } from "./histogram.js";
import { kinds } from "./kinds.js";
import { layers } from "./layers.js";
import { legend } from "./legend.js";
import { keeps } from "./order.js";
import { patterns } from "./patterns.js";
import { scatter } from "./scatter.js";
import { several } from "./several.js";
import { headTable } from "./table.js";
import { theme } from "./theme.js";
import { walls } from "./walls.js";

const data = JSON.parse(document.getElementById("data").textContent);

const page = document.getElementById("page");

const state = { study: 0, colouring: null, beside: "", head: null, find: "", only: false, least: "", sort: null, map: 0 };

const study = () => data.studies[state.study];

const colouringOf = (id) => study().colourings.find((colouring) => colouring.id === id);

const tip = h("div", { class: "tip", role: "status", hidden: true });

const panel = h("aside", { id: "head", hidden: true, "aria-labelledby": "head-title" });

const body = h("div", { id: "body" });

function start() {
  page.append(h("header", { class: "top" }, h("h1", {}, title()), theme(recolour)), body, panel, tip);
  draw();
  follow();
  addEventListener("hashchange", follow);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.head !== null) close();
  });
}

// Maps are pictures: they have their colours inside.
function recolour() {
  draw();
  if (state.head !== null) show(state.head);
}

const title = () => {
  const names = [
    ...new Set(data.studies.map((one) => (one.model || one.name) + (one.task ? ` (task ${one.task})` : ""))),
  ];
  return `Every head of ${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""}`;
};

const spelled = (hash) => {
  try {
    return decodeURIComponent(hash);
  } catch {
    return "";
  }
};

// #L3H7 opens a head; with several studies #study-2/L3H7 opens it in the second.
function follow() {
  const found = /^#(?:study-(\d+)\/)?(.+)$/.exec(spelled(location.hash));
  if (!found) return shut();
  const number = found[1] ? Number(found[1]) - 1 : state.study;
  const index = data.studies[number]?.heads.findIndex((head) => head[3] === found[2]) ?? -1;
  if (index < 0) return shut();
  if (number !== state.study) {
    state.study = number;
    state.colouring = null;
    draw();
  }
  show(index);
}

const link = (index) => `#${data.studies.length > 1 ? `study-${state.study + 1}/` : ""}${study().heads[index][3]}`;

const open = (index) => {
  if (location.hash === link(index)) show(index);
  else location.hash = link(index);
};

function close() {
  const was = state.head;
  history.pushState(null, "", location.pathname + location.search);
  shut();
  body.querySelector(`#centre [data-head="${was}"]`)?.focus();
}

function shut() {
  state.head = null;
  panel.hidden = true;
  document.body.classList.remove("opened");
  mark();
}

function show(index) {
  state.head = index;
  const step = (by) => open((index + by + study().heads.length) % study().heads.length);
  panel.replaceChildren(headPage(study(), index, state, { close, step }));
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add("opened");
  panel.querySelector("#head-title").focus({ preventScroll: true });
  mark();
}

// Where the heads of the chosen study are drawn: in the grids, the scatter and the map of heads.
const drawn = (index) =>
  body.querySelectorAll(
    ["#centre", "#alike"]
      .flatMap((part) => [`${part} [data-head="${index}"]`, `${part} [data-point="${index}"]`])
      .join(","),
  );

// The chosen head is marked without drawing all again.
function mark() {
  for (const node of body.querySelectorAll(".chosen")) node.classList.remove("chosen");
  if (state.head !== null) for (const node of drawn(state.head)) node.classList.add("chosen");
}

function hover(index, event) {
  for (const node of body.querySelectorAll(".hovered")) node.classList.remove("hovered");
  tip.hidden = index === null;
  if (index === null) return;
  for (const node of drawn(index)) node.classList.add("hovered");
  const colourings = [colouringOf(state.colouring), colouringOf(state.beside)].filter(Boolean);
  tip.replaceChildren(
    h("b", {}, study().heads[index][3]),
    ...colourings.map((colouring) =>
      h("div", {}, `${colouring.title}: ${shown(colouring, index)}${sure(colouring, index) ? " ●" : ""}`),
    ),
  );
  const box = event.target.getBoundingClientRect();
  const middle = box.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.min(innerWidth - tip.offsetWidth - 8, Math.max(8, middle))}px`;
  const below = box.bottom + 8 + tip.offsetHeight <= innerHeight;
  tip.style.top = `${below ? box.bottom + 8 : box.top - tip.offsetHeight - 8}px`;
}

const matches = (index) => keeps(study().heads[index][3], index, colouringOf(state.colouring), state);

function draw() {
  const one = study();
  if (!colouringOf(state.colouring)) {
    // At first what happens without a head, and beside it what is most likely asked next.
    state.colouring = one.colourings[0]?.id ?? null;
    state.beside =
      one.colourings.find((each, index) => index && (each.id.startsWith("pruning/") || each.id === "roles"))?.id ?? "";
  }
  if (!colouringOf(state.beside)) state.beside = "";
  const colouring = colouringOf(state.colouring);
  body.replaceChildren(
    ...[
      data.studies.length > 1
        ? [
            ...several(data, choose),
            select(
              "Study",
              data.studies.map((each, number) => ({ value: String(number), title: each.name })),
              String(state.study),
              (value) => choose(Number(value)),
            ),
          ]
        : null,
      findings(one),
      colouring ? h("div", { id: "centre" }) : null,
      h(
        "div",
        { class: "pair" },
        one.layers.map(layers),
        colouring ? histogram(one, colouring.effect ? colouring : one.colourings.find((each) => each.effect)) : null,
      ),
      h("div", { class: "pair" }, [...one.curves].reverse().map(curves)),
      one.dynamics ? dynamics(one.dynamics) : null,
      h(
        "div",
        { class: "pair" },
        one.colourings.filter((each) => each.id === "roles").map(kinds),
        one.embedding && colouring ? h("div", { id: "alike" }) : null,
      ),
      patterns(one),
      one.maps.length ? walls(one, open) : null,
      one.costs.map(costs),
      gaps(one),
      provenance(one, data.version),
    ]
      .flat(Infinity)
      .filter(Boolean),
  );
  if (colouring) centre();
  mark();
}

function choose(number) {
  Object.assign(state, { study: number, colouring: null, beside: "", sort: null, map: 0 });
  if (state.head !== null) {
    history.pushState(null, "", location.pathname + location.search);
    shut();
  }
  draw();
}

// The grid and everything that depends on the chosen colourings, redrawn without the rest of the page.
function centre() {
  const one = study(),
    colouring = colouringOf(state.colouring),
    beside = colouringOf(state.beside);
  const options = one.colourings.map((each) => ({ value: each.id, title: each.title, group: each.group }));
  const shared = { open, hover, matches, chosen: state.head };
  const redraw = (change) => {
    Object.assign(state, change);
    centre();
  };
  const box = (title, each, size) =>
    figure(title, null, h("div", { class: "with-legend" }, grid(one, each, { ...shared, size }), legend(each)), {
      level: "h3",
      rows: () =>
        one.heads.map((head, index) => ({
          head: head[3],
          value:
            each.kind === "category" && each.values[index] !== null
              ? each.names[each.values[index]]
              : each.values[index],
          low: each.low?.[index] ?? null,
          high: each.high?.[index] ?? null,
          q: each.q?.[index] ?? null,
        })),
    });
  const widest = Math.max(...one.stacks.map((stack) => stack.width)),
    deepest = Math.max(...one.stacks.map((stack) => stack.layers.length));
  const size = Math.max(7, Math.min(30, Math.floor(640 / widest), Math.floor(760 / Math.max(deepest, 12))));
  const input = (label, attributes, key) =>
    h(
      "label",
      { class: "choice" },
      h("span", {}, label),
      h("input", {
        ...attributes,
        value: state[key],
        oninput: (event) => {
          state[key] = event.target.value;
          refresh();
        },
      }),
    );
  const content = [
    h("h2", { id: "grid" }, "Every head"),
    h(
      "p",
      { class: "caption" },
      "A row is a layer, a square is a head. Click one (or press Enter) to see what it does; arrow keys walk.",
    ),
    h(
      "div",
      { class: "controls" },
      select("Colour by", options, colouring.id, (value) => redraw({ colouring: value, sort: null })),
      select("Beside it", [{ value: "", title: "nothing" }, ...options], state.beside, (value) =>
        redraw({ beside: value, sort: null }),
      ),
      input("Find a head", { type: "search", placeholder: "L3H7", size: 8 }, "find"),
      input("At least", { type: "number", step: "any", placeholder: plain(0, 1), class: "number" }, "least"),
      colouring.q
        ? h(
            "label",
            { class: "choice check" },
            h("input", {
              type: "checkbox",
              checked: state.only,
              onchange: (event) => {
                state.only = event.target.checked;
                refresh();
              },
            }),
            h("span", {}, "only significant ones"),
          )
        : null,
    ),
    h(
      "div",
      { class: "pair" },
      box(colouring.title, colouring, size),
      beside ? box(beside.title, beside, size) : null,
      beside ? scatter(one, colouring, beside, shared) : null,
      h("div", { id: "list" }),
    ),
  ];
  document.getElementById("centre").replaceChildren(...content.filter(Boolean));
  list();
  const alike = document.getElementById("alike");
  if (alike) alike.replaceChildren(...[embedding(one, colouring, shared)].filter(Boolean));
  mark();
}

function list() {
  const sort = (column) => {
    state.sort = { column, up: state.sort?.column === column ? !state.sort.up : column < 0 };
    list();
  };
  document
    .getElementById("list")
    .replaceChildren(
      headTable(study(), [colouringOf(state.colouring), colouringOf(state.beside)], state, { open, matches, sort }),
    );
}

function refresh() {
  for (const node of body.querySelectorAll("#centre [data-head], #centre [data-point]"))
    node.classList.toggle("dimmed", !matches(Number(node.dataset.head ?? node.dataset.point)));
  list();
}

start();
