// The part of the live page that switches heads off: groups, selections, the sweep of this text, and the grid.
import { chooser } from "../choices.js";
import { h, select } from "../dom.js";
import { signed } from "../format.js";
import { grid } from "../grid.js";
import { keepFocus } from "../keep_focus.js";
import { legend } from "../legend.js";
import { spoken } from "./answer.js";
import { area } from "./area.js";
import { onOrOff, SWITCHED, sweepWords } from "./colourings.js";
import { drawHeads, groupsOf, sweepGroups } from "./groups.js";
import { headsOfLayer } from "./heads.js";
import { allOff, fresh } from "./selections.js";
import { groupPicker, historyTools, selectionList } from "./switches.js";

const HOW_TO =
  "A row is a layer, a square an attention head. Click one to switch it off, a layer's name for the whole row, or drag " +
  "with Shift held.";
const RANDOM = 10;

// `live`: the state of the page. `actions`: flip, takeOff, change, slide, undo, redo, choose, hover, sweep, by.
export function headsPart(live, actions) {
  const places = Object.fromEntries(
    ["tools", "picker", "selections", "sweep", "grid", "legend"].map((name) => [
      name,
      h("div", { class: `${name}-of` }),
    ]),
  );
  const node = h(
    "section",
    { class: "live-heads", "aria-labelledby": "heads-title" },
    h(
      "div",
      { class: "title" },
      h("h2", { id: "heads-title" }, h("span", { class: "step" }, "2 · "), "Switch heads off"),
      places.tools,
    ),
    h("p", { class: "quiet how-to" }, HOW_TO),
    places.picker,
    places.selections,
    places.sweep,
    places.grid,
    places.legend,
  );
  const fill = (name, ...children) =>
    keepFocus(places[name], () => places[name].replaceChildren(...children.filter(Boolean)));
  const selections = () => live.history.now;
  const off = () => allOff(selections());

  // What is pressed is not drawn anew before it is let go, since its click would be lost.
  let [isPressed, isWaiting] = [false, false];
  places.grid.addEventListener("pointerdown", () => {
    isPressed = true;
    const free = () => {
      isPressed = false;
      if (isWaiting) drawGrid();
    };
    for (const name of ["pointerup", "pointercancel"])
      addEventListener(name, () => setTimeout(free, 0), { once: true });
  });

  function drawGrid() {
    isWaiting = isPressed;
    if (isPressed) return;
    const colouring = coloured(live);
    const isPlain = colouring.id === SWITCHED;
    const drawn = grid(live.shown, colouring, {
      room: roomOf(live.model),
      most: 44,
      label: isPlain ? "Heads, on or off" : undefined,
      chosen: live.head,
      gone: new Set(off()),
      goneSays: isPlain ? "" : "switched off",
      open: (index) => {
        actions.choose(index);
        actions.flip([index]);
      },
      openLayer: (stack, layer) => actions.flip(headsOfLayer(live.shown, stack, layer)),
      hover: actions.hover,
    });
    area(drawn, actions.flip);
    fill("grid", drawn);
    fill("legend", isPlain ? null : legend(colouring));
  }

  function drawSelections() {
    fill(
      "tools",
      historyTools({
        canUndo: live.history.canUndo,
        canRedo: live.history.canRedo,
        isOff: off().length > 0,
        undo: actions.undo,
        redo: actions.redo,
        reset: () => actions.change([fresh(selections()[live.current].how)], { current: 0 }),
        add: () => actions.change([...selections(), fresh()], { current: selections().length }),
      }),
    );
    fill(
      "selections",
      selectionList(live.model, selections(), live.current, {
        change: (at, what, moves = false) =>
          actions.slide(
            selections().map((one, place) => (place === at ? { ...one, ...what } : one)),
            moves,
            at,
          ),
        pick: (at) => {
          live.current = at;
          drawSelections();
        },
        remove: (at) => {
          const next = selections().filter((_, place) => place !== at);
          actions.change(next.length ? next : [fresh()], { current: 0 });
        },
      }),
    );
  }

  // The groups of the model and its study, and after a sweep those of this text.
  function drawPicker() {
    const groups = [...sweepGroups(live.sweep, live.model), ...groupsOf(live.shown)];
    const draw = () => actions.takeOff(drawHeads(live.shown, off(), RANDOM));
    fill("picker", groupPicker(groups, actions.takeOff, draw));
  }

  const drawSweep = () => fill("sweep", sweepTools(live, actions));

  return { node, drawGrid, drawSelections, drawPicker, drawSweep };
}

// What the colours of the grid show.
export function coloured(live) {
  if (live.by === "sweep" && live.sweep) return live.sweep;
  return live.shown.colourings.find(({ id }) => id === live.by) ?? onOrOff(live.shown, allOff(live.history.now));
}

function roomOf(model) {
  const narrow = innerWidth < 900;
  const wide = Math.min(1400, innerWidth - (narrow ? 28 : 40));
  const depth = Math.max(...model.stacks.map(({ layers }) => layers.length));
  return {
    width: narrow ? Math.min(wide, 640) : Math.round(wide * 0.44),
    height: Math.max(narrow ? 640 : 540, 20 * depth),
  };
}

function sweepTools(live, { sweep, by }) {
  const question = live.answer?.questions[live.question];
  const options = question && question.options.length > 1 ? question.options : [];
  const { colourings, heads } = live.shown;
  const extra = [
    { value: SWITCHED, title: "on or off" },
    ...(live.sweep ? [{ value: "sweep", title: "effect on this answer" }] : []),
  ];
  const isDone = live.sweep?.seconds !== undefined;
  return h(
    "div",
    { class: "controls" },
    h(
      "button",
      { type: "button", class: "small strong", onclick: () => sweep(), disabled: live.sweeping || !question },
      live.sweeping ? "Switching each head off in turn …" : "Which head matters here?",
    ),
    options.length
      ? select(
          "For the answer",
          [
            { value: "", title: "most probable" },
            ...options.map(({ option, name }) => ({ value: String(option), title: spoken(name) })),
          ],
          live.option,
          (value) => sweep(value),
        )
      : null,
    colourings.length || live.sweep ? chooser("Colour by", { colourings }, live.by, by, { extra }) : null,
    h(
      "p",
      { class: "says sweep-words", role: "status" },
      isDone
        ? `${sweepWords(live.shown, live.sweep, signed)} ${heads.length} heads in ${live.sweep.seconds.toFixed(1)} s.`
        : "",
    ),
  );
}
