// The page: reads its data, draws the view that its address names, and follows what people choose, click and type.
import { readAddress, readView, writeAddress } from "./address.js";
import { h, select } from "./dom.js";
import { about } from "./download.js";
import { embedding } from "./embedding.js";
import { explore } from "./explore.js";
import { headPage } from "./head.js";
import { identity, keyNumbers } from "./identity.js";
import { keepFocus } from "./keep_focus.js";
import { mapTexts } from "./map_texts.js";
import { onPaper } from "./paper.js";
import { comparison, MOST_PINS, pinStrip } from "./pins.js";
import { savePreview } from "./preview.js";
import { readData } from "./read_data.js";
import { removals } from "./removal.js";
import { sections } from "./sections.js";
import { several } from "./several.js";
import { copy, copyButton } from "./share.js";
import { firstNumber, firstTab } from "./shown_numbers.js";
import { shownColouring, stage } from "./stage.js";
import { tabs } from "./tabs.js";
import { chosenTheme, setTheme, theme } from "./theme.js";
import { fillTip, placeTip } from "./tip.js";
import { effectOf } from "./told_heads.js";

const data = { studies: [] };

const page = document.getElementById("page");

// The view is what the address says; the rest is what is open or pointed at.
const state = {
  head: null,
  focus: null,
  gone: null,
  which: 0,
  lasso: null,
  order: null,
};

const study = () => data.studies[state.study];

const tip = h("div", { class: "tip", role: "status", hidden: true });

const panel = h("section", {
  id: "head",
  role: "dialog",
  "aria-modal": "true",
  "aria-labelledby": "head-title",
  hidden: true,
});

const top = h("header", { class: "top" });

const body = h("main", { id: "body", tabindex: -1 });

const strip = h("div", { class: "strip" });

const lights = theme(() => {
  if (!page.firstChild) return;
  remember();
  draw();
  if (!panel.hidden) show();
});

let current = { card: () => {}, matches: () => true };

async function start() {
  Object.assign(data, await readData());
  Object.assign(state, readView(location.hash, data.studies, 0));
  if (state.theme) setTheme(state.theme);
  lights.show();
  const skip = h("a", { class: "skip", href: "#body" }, "Skip to the heads");
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    (body.querySelector("#centre [data-head][tabindex='0']") ?? body).focus();
  });
  page.append(skip, top, body, strip, panel, tip);
  settle();
  draw();
  follow(true);
  addEventListener("hashchange", () => follow());
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) close();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    // The grid fills its room: it is drawn again when there is another one.
    if (Math.abs(innerWidth - width) < 40) return;
    width = innerWidth;
    draw();
  });
  onPaper();
}

// What the address leaves open: the tab and the number that the study shows first.
function settle() {
  const one = study();
  Object.assign(about, {
    subject: [one.model, one.task].filter(Boolean).join(", "),
    model: one.model,
    task: one.task,
  });
  state.tab ??= firstTab(one);
  if (!one.colourings.some(({ id }) => id === state.by)) state.by = null;
  state.number = state.by ?? firstNumber(one, state.tab);
  const texts = mapTexts(one);
  state.text = Math.max(0, Math.min(state.text, texts.length - 1));
  if (!texts[state.text]?.maps[state.version]) state.version = 0;
  state.which = Math.min(state.which, Math.max(0, removals(one).length - 1));
  if (state.against && !one.colourings.some(({ id }) => id === state.against))
    state.against = state.against === "nothing" ? "" : null;
}

const viewOf = () => ({
  ...state,
  tab: state.tab === firstTab(study()) ? "" : state.tab,
  pins: state.pins.map((index) => study().heads[index][3]),
  theme: chosenTheme(),
});

const link = (index, view = {}) =>
  writeAddress(index === null ? null : study().heads[index][3], state.study, data.studies.length, {
    ...viewOf(),
    ...view,
  });

// The view goes into the address without a step in the history.
const remember = () => history.replaceState(null, "", link(state.head) || location.pathname + location.search);

const VIEW = [
  ...["study", "tab", "by", "against", "sure", "find", "text", "sort", "comparing"],
  ...["version", "removed", "shared"],
];

function follow(first = false) {
  const view = readView(location.hash, data.studies, state.study);
  const found = readAddress(location.hash, data.studies, state.study);
  view.tab ??= firstTab(data.studies[view.study]);
  const same = VIEW.every((key) => view[key] === state[key]) && view.kinds.join() === state.kinds.join();
  const pins = view.pins.join() !== state.pins.join();
  if (!same || found?.study !== (found && state.study)) {
    const other = view.study !== state.study;
    Object.assign(state, view, other ? { focus: null, which: 0 } : {}, {
      gone: null,
      lasso: null,
      order: null,
    });
    settle();
    if (!first) draw();
  } else if (pins) state.pins = view.pins;
  if (pins) drawPins();
  if (found) show(found.head);
  else if (state.comparing && state.pins.length) show(null);
  else shut();
}

const open = (index) => {
  if (location.hash === link(index, { comparing: false })) show(index);
  else location.hash = link(index, { comparing: false });
};

function close() {
  const was = state.head;
  Object.assign(state, { head: null, comparing: false });
  history.pushState(null, "", link(null) || location.pathname + location.search);
  shut();
  if (was !== null) body.querySelector(`#centre [data-head="${was}"]`)?.focus({ preventScroll: true });
  tip.hidden = true;
}

function shut() {
  state.head = null;
  panel.hidden = true;
  panel.replaceChildren();
  for (const node of [top, body, strip]) node.inert = false;
  document.body.classList.remove("opened");
  hover(null);
  mark();
}

// A head, or the pinned ones side by side.
function show(index = state.head) {
  state.head = index;
  state.focus = index ?? state.focus;
  const step = (by) => open((index + by + study().heads.length) % study().heads.length);
  panel.replaceChildren(
    index === null
      ? comparison(study(), state.pins, { text: state.text, close, open })
      : headPage(study(), index, {
          text: state.text,
          chooseText: (text) => {
            state.text = text;
            remember();
          },
          close,
          step,
          pin: () => {
            pin(index);
            keepFocus(panel, () => show(index));
          },
          pinned: state.pins.includes(index),
          compare: state.pins.length > 1 ? compare : null,
          copy: () => copy(location.href),
        }),
  );
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add("opened");
  tip.hidden = true;
  panel.querySelector("#head-title").focus({ preventScroll: true });
  for (const node of [top, body, strip]) node.inert = true;
  mark();
}

// Where the heads of the chosen study are drawn: in the grid, the scatter and the map of heads.
const drawn = (index) =>
  body.querySelectorAll(
    ["#centre", "#alike", "#explore"]
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
  tip.hidden = true;
  if (index === null) return;
  for (const node of drawn(index)) node.classList.add("hovered");
  if (index !== state.focus || !body.querySelector(".card")) {
    state.focus = index;
    current.card(index);
  }
  // Where the head is told beside the grid, a tip would say the same again.
  const beside = innerWidth >= 900 && event.target.closest("#centre");
  if (beside) return;
  const colourings = [shownColouring(study(), state), against()].filter(Boolean);
  tip.hidden = false;
  fillTip(tip, study().heads[index][3], colourings, index);
  placeTip(tip, event.target.getBoundingClientRect());
}

// What the numbers of the grid are set against: what was chosen, at first the effect of the head or its importance.
function against() {
  const { colourings } = study();
  if (state.against !== null) return colourings.find(({ id }) => id === state.against) ?? null;
  const usual = [
    effectOf(study()),
    ...colourings.filter(({ id }) => id.startsWith("pruning/") || id.startsWith("measures/")),
  ];
  return usual.find((one) => one && one.id !== current.colouring?.id && one.kind !== "category") ?? null;
}

function pin(index) {
  const { pins } = state;
  state.pins = pins.includes(index) ? pins.filter((one) => one !== index) : [...pins, index].slice(-MOST_PINS);
  remember();
  drawPins();
  current.card(state.focus);
}

function compare() {
  location.hash = link(null, { comparing: true });
}

function drawPins() {
  keepFocus(strip, () =>
    strip.replaceChildren(
      pinStrip(study(), state.pins, {
        unpin: pin,
        compare,
      }),
    ),
  );
}

// Another tab, number or filter. Each begins with its own numbers and without the filter of another one.
function change(what) {
  const moved = "tab" in what || "by" in what;
  Object.assign(state, what);
  if ("tab" in what) Object.assign(state, { by: null, sort: "", gone: null, removed: null });
  if (moved) Object.assign(state, { kinds: [], sure: false, lasso: null, order: null });
  if (state.by === "") state.by = null;
  settle();
  remember();
  if ("tab" in what) draw();
  else keepFocus(body, drawStage);
}

const firstGone = () => removals(study())[state.which]?.chosen ?? 0;

// Where the slider stopped is part of the view, unless that is where it started.
function rememberRemoved() {
  state.removed = state.gone === firstGone() ? null : state.gone;
  remember();
}

function chooseStudy(number) {
  Object.assign(state, readView("", data.studies, number), {
    study: number,
    focus: null,
    which: 0,
    gone: null,
  });
  settle();
  history.pushState(null, "", link(null) || location.pathname + location.search);
  shut();
  draw();
}

function drawTop() {
  const tools = h(
    "div",
    { class: "tools" },
    copyButton("Copy link", () => location.href, { name: "Copy link to this view" }),
    study().heads.length
      ? h(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": "Picture to show beside a link",
            title: "A picture of 1200 × 630, to show beside a link",
            onclick: () => savePreview(study()),
          },
          "Picture",
        )
      : null,
    h("button", { type: "button", class: "small", onclick: cite }, "Cite"),
    lights.button,
  );
  const chooser =
    data.studies.length > 1
      ? select(
          "Study",
          data.studies.map((each, number) => ({ value: String(number), title: each.name })),
          String(state.study),
          (value) => chooseStudy(Number(value)),
        )
      : null;
  keepFocus(top, () =>
    top.replaceChildren(h("span", { class: "wordmark" }, "Headcount"), identity(study()), chooser ?? "", tools),
  );
}

function cite() {
  const node = document.getElementById("cite");
  node.open = true;
  node.scrollIntoView({ block: "center" });
  node.querySelector("summary").focus();
}

function draw() {
  drawTop();
  const one = study();
  const places = { explore: h("section", { id: "explore" }), alike: h("div", { id: "alike" }) };
  const choose = (tab, focus) => {
    change({ tab });
    if (focus) document.getElementById(`tab-${tab}`).focus();
  };
  keepFocus(body, () =>
    body.replaceChildren(
      ...[
        one.heads.length ? keyNumbers(one) : null,
        tabs(state.tab, choose, { carries: !effectOf(one) && one.colourings.some(({ patched }) => patched) }),
        h(
          "div",
          { id: "stage", role: "tabpanel", "aria-labelledby": `tab-${state.tab}` },
          h("div", { id: "centre" }),
          data.studies.length > 1
            ? several(data, state, {
                choose: chooseStudy,
                remember,
                open: (number, index) => {
                  location.hash = writeAddress(data.studies[number].heads[index][3], number, data.studies.length);
                },
              })
            : null,
          sections(one, state, { open, hover, tip, version: data.version, places }),
        ),
      ].filter(Boolean),
    ),
  );
  drawStage();
  drawPins();
}

// The grid and everything that depends on the chosen number, without the rest of the page.
function drawStage() {
  const one = study();
  state.gone ??= state.removed ?? firstGone();
  current = stage(one, state, { open, hover, pin, change, remember: rememberRemoved });
  document.getElementById("centre").replaceWith(current.node);
  current.fit();
  const { colouring } = current;
  if (colouring) {
    if (state.focus === null) state.focus = firstFocus(one, colouring);
    current.card(state.focus);
    drawExplore();
    const alike = document.getElementById("alike");
    const shared = { open, hover, chosen: state.head, choose: lassoed };
    if (alike) alike.replaceChildren(...[embedding(one, colouring, shared)].filter(Boolean));
  }
  mark();
}

const lassoed = (heads) => {
  state.lasso = heads.length ? heads : null;
  drawExplore();
};

function drawExplore() {
  const place = document.getElementById("explore");
  const { colouring, matches } = current;
  const kept = (index) => matches(index) && (!state.lasso || state.lasso.includes(index));
  if (colouring)
    for (const node of document.querySelectorAll("#centre [data-head]"))
      node.classList.toggle("dimmed", !kept(Number(node.dataset.head)));
  if (!place || !colouring || colouring.id === "present") return;
  const shared = { open, hover, matches, chosen: state.head };
  const redraw = (what) => {
    Object.assign(state, what);
    remember();
    drawExplore();
    mark();
  };
  keepFocus(place, () => place.replaceChildren(...explore(study(), colouring, against(), state, { shared, redraw })));
}

// The head that is told before one is pointed at: the best example, or the one with the largest value.
function firstFocus(one, colouring) {
  if (one.best?.length) return one.best[0].head;
  const numeric = one.colourings.find(({ id }) => id === "measures/position:previous") ?? colouring;
  let best = 0;
  numeric.values.forEach((value, index) => {
    if (Math.abs(value ?? 0) > Math.abs(numeric.values[best] ?? 0)) best = index;
  });
  return best;
}

start();
