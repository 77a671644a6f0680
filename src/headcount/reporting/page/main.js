// The page: reads its data, draws its sections, and follows what people choose, click, type and link to.
import { findings, gaps, provenance } from "./about.js";
import { readAddress, writeAddress } from "./address.js";
import { budget } from "./budget.js";
import { costs } from "./costs.js";
import { cues } from "./cues.js";
import { curves } from "./curves.js";
import { h, select } from "./dom.js";
import { dynamics } from "./dynamics.js";
import { embedding } from "./embedding.js";
import { everyHead } from "./every_head.js";
import { headPage } from "./head.js";
import { histogram } from "./histogram.js";
import { kinds } from "./kinds.js";
import { layers } from "./layers.js";
import { keeps } from "./order.js";
import { pairs } from "./pairs.js";
import { patterns } from "./patterns.js";
import { positions } from "./positions.js";
import { probe } from "./probes.js";
import { several } from "./several.js";
import { headTable } from "./table.js";
import { theme } from "./theme.js";
import { fillTip, placeTip } from "./tip.js";
import { walls } from "./walls.js";

const data = JSON.parse(document.getElementById("data").textContent);

const page = document.getElementById("page");

const state = {
  study: 0,
  colouring: null,
  beside: "",
  head: null,
  find: "",
  only: false,
  least: "",
  kind: "",
  sort: null,
  map: 0,
};

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
  const heads = data.studies.some((one) => one.heads.length || !one.cues.length) ? "Every head of " : "";
  return `${heads}${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""}`;
};

function follow() {
  const found = readAddress(location.hash, data.studies, state.study);
  if (!found) return shut();
  if (found.study !== state.study) {
    state.study = found.study;
    Object.assign(state, { colouring: null, kind: "" });
    draw();
  }
  show(found.head);
}

const link = (index) => writeAddress(study().heads[index][3], state.study, data.studies.length);

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
  hover(null);
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
  fillTip(tip, study().heads[index][3], colourings, index);
  placeTip(tip, event.target.getBoundingClientRect());
}

const matches = (index) => keeps(study().heads[index][3], index, colouringOf(state.colouring), state);

function draw() {
  const one = study();
  if (!colouringOf(state.colouring)) {
    // At first what happens without a head, and beside it what is most likely asked next.
    state.colouring = one.colourings[0]?.id ?? null;
    state.beside =
      one.colourings.find((each, index) => index && (each.id.startsWith("pruning/") || each.id === "roles"))?.id ??
      one.colourings[0]?.beside ??
      "";
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
      one.positions.map((told) => positions(one, told, open, tip)),
      one.pairs.map((told) => pairs(one, told, open, tip)),
      h(
        "div",
        { class: "pair" },
        one.layers.map(layers),
        colouring ? histogram(one, colouring.effect ? colouring : one.colourings.find((each) => each.effect)) : null,
      ),
      one.budgets.map((told) => budget(told, tip)),
      h("div", { class: "pair" }, [...one.curves].reverse().map(curves)),
      one.dynamics ? dynamics(one.dynamics) : null,
      h(
        "div",
        { class: "pair" },
        one.colourings.filter((each) => each.id === "roles").map(kinds),
        one.embedding && colouring ? h("div", { id: "alike" }) : null,
      ),
      one.probes.map((told, number) => probe(told, number, open)),
      one.cues.map(cues),
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
  Object.assign(state, { study: number, colouring: null, beside: "", sort: null, map: 0, kind: "", least: "" });
  if (state.head !== null) {
    history.pushState(null, "", location.pathname + location.search);
    shut();
  }
  draw();
}

// The grid and everything that depends on the chosen colourings, redrawn without the rest of the page.
function centre() {
  const [colouring, beside] = [colouringOf(state.colouring), colouringOf(state.beside)];
  const shared = { open, hover, matches, chosen: state.head };
  const redraw = (change) => {
    Object.assign(state, change);
    centre();
  };
  const content = everyHead(study(), colouring, beside, state, { shared, redraw, refresh });
  document.getElementById("centre").replaceChildren(...content);
  list();
  const alike = document.getElementById("alike");
  if (alike) alike.replaceChildren(...[embedding(study(), colouring, shared)].filter(Boolean));
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
