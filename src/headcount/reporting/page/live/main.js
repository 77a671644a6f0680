// The live page: a text is typed, heads are switched off, and the server's answers are shown beside each other.
import { chooser } from "../choices.js";
import { h, select } from "../dom.js";
import { signed } from "../format.js";
import { grid } from "../grid.js";
import { headPage } from "../head.js";
import { keepFocus } from "../keep_focus.js";
import { legend } from "../legend.js";
import { copyButton } from "../share.js";
import { chosenTheme, setTheme, theme } from "../theme.js";
import { fillTip, placeTip } from "../tip.js";
import { readLink, takeToken, writeLink } from "./address.js";
import { answerView, continuations, inOneLine, spoken } from "./answer.js";
import { area } from "./area.js";
import { commands, python } from "./code.js";
import { addLayer, onOrOff, startSweep, sweepWords } from "./colourings.js";
import { drawHeads, groupsOf, sweepGroups } from "./groups.js";
import { headPanel } from "./head_panel.js";
import { headsOfLayer } from "./heads.js";
import { latest } from "./latest.js";
import { ask, isThere, listen, read, rememberToken } from "./requests.js";
import { allOff, asked, fresh, makeHistory, switchOff, toggle } from "./selections.js";
import { shownStudy } from "./shown_study.js";
import { groupPicker, historyTools, selectionList } from "./switches.js";
import { textBoxes } from "./text_boxes.js";

const page = document.getElementById("page");
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join(
  "",
);
const IDLE = 450; // milliseconds without a key before the models write on
const REST = 110; // milliseconds that the pointer rests on a head before it is the chosen one
const PULSE = 4000; // milliseconds between looks at whether the server is there
const NEW_TOKENS = 24;

const live = {
  model: null,
  study: null,
  shown: null,
  texts: [],
  history: makeHistory([fresh()]),
  current: 0,
  head: null,
  by: "",
  question: 0,
  option: "",
  version: "whole",
  answer: null,
  answered: 0,
  problem: null,
  sweep: null,
  sweeping: false,
  written: {},
};

const part = (tag, attributes) => h(tag, attributes);
const banner = part("div", { class: "banner", role: "alert", hidden: true });
const top = part("header", { class: "top" });
const body = part("main", { id: "body", tabindex: -1 });
const answerPart = part("section", { class: "live-answer", "aria-labelledby": "answer-title" });
const headsPart = part("section", { class: "live-heads", "aria-labelledby": "heads-title" });
const headPart = part("section", { class: "live-head", "aria-labelledby": "chosen-head" });
const summary = part("div", { class: "summary", "aria-hidden": "true" });
const tip = part("div", { class: "tip", role: "status", hidden: true });
const panel = part("section", {
  id: "head",
  role: "dialog",
  "aria-modal": "true",
  "aria-labelledby": "head-title",
  hidden: true,
});
// What a screen reader is told when an answer has come.
const spokenAnswer = part("p", { class: "for-readers", role: "status" });
const places = {};
let boxes = null;

const selections = () => live.history.now;
const off = () => allOff(selections());

// The texts that count: what is left empty at the end and need not be given is not sent.
function sentTexts() {
  const texts = live.texts.map((text) => text ?? "");
  while (texts.length > live.model.texts_needed && !texts.at(-1).trim()) texts.pop();
  return texts;
}
const isTyped = () => sentTexts().every((text, at) => at >= live.model.texts_needed || text.trim());

const request = (more = {}) => ({ texts: sentTexts(), ...more });

// Answers.

const answering = latest(async (signal) => {
  const waiting = setTimeout(() => answerPart.setAttribute("aria-busy", "true"), 250);
  try {
    const fields = {
      off: asked(live.model, selections()),
      map: live.shown.heads[live.head][3],
      client: `${TAB}-answer`,
    };
    const count = off().length;
    live.answer = await ask("api/answer", request(fields), signal);
    Object.assign(live, { problem: null, answered: count });
  } finally {
    clearTimeout(waiting);
    if (!signal.aborted) answerPart.removeAttribute("aria-busy");
  }
  live.question = Math.min(live.question, Math.max(0, live.answer.questions.length - 1));
  drawAnswer();
  drawHead();
  if (live.model.writes) writing.call(IDLE);
}, failed);

const writing = latest(async (signal) => {
  live.written = {};
  const fields = { off: asked(live.model, selections()), client: `${TAB}-write`, new_tokens: NEW_TOKENS };
  await listen("api/continue", request(fields), signal, (event) => {
    if (event.side) live.written[event.side] = event;
    drawWritten();
  });
}, failed);

function failed(error) {
  if (error.code === "gone") return lose();
  if (error.code === "token") return askForToken();
  if (error.code === "busy" || error.code === "rate") return setTimeout(refresh, 700);
  live.problem = error.message;
  live.answer = null;
  drawAnswer();
  return drawHead();
}

// A new answer, for a new text or other heads.
function refresh() {
  writing.stop();
  if (isTyped()) answering.call();
  else {
    answering.stop();
    live.answer = null;
    live.problem = null;
    drawAnswer();
    drawHead();
  }
}

let remembering = null;
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(writeAddress, 250);
}
const hashOf = () => writeLink(live.model, { ...live, selections: selections(), theme: chosenTheme() });
function writeAddress() {
  clearTimeout(remembering);
  history.replaceState(null, "", hashOf());
}
const linkOf = () => location.href.replace(/#.*/s, "") + hashOf();

function typed(texts) {
  live.texts = texts;
  Object.assign(live, { written: {}, option: "" });
  dropSweep();
  remember();
  refresh();
}

function dropSweep() {
  sweeping.stop();
  live.sweeping = false;
  if (!live.sweep) return;
  live.sweep = null;
  if (live.by === "sweep") live.by = "";
  makePicker();
  drawHeads_();
}

// Heads on and off.

function change(next, { merge = false, current = live.current } = {}) {
  live.history.push(next, { merge });
  live.current = Math.min(current, next.length - 1);
  followSelections();
}

function followSelections() {
  live.current = Math.min(live.current, selections().length - 1);
  live.written = {};
  remember();
  drawHeads_();
  drawAnswer();
  drawHead();
  refresh();
}

const flip = (heads) => change(toggle(selections(), live.current, heads));
const takeOff = (heads) => change(switchOff(selections(), live.current, heads));

function choose(index) {
  if (live.head === index) return;
  live.head = index;
  for (const node of headsPart.querySelectorAll(".cell.chosen")) node.classList.remove("chosen");
  headsPart.querySelector(`.cell[data-head="${index}"]`)?.classList.add("chosen");
  remember();
  drawHead();
  if (isTyped()) answering.call();
}

let resting = null;
function hover(index, event) {
  clearTimeout(resting);
  tip.hidden = true;
  if (index === null) return;
  resting = setTimeout(() => choose(index), event.type === "focus" ? 0 : REST);
  const colouring = currentColouring();
  tip.hidden = false;
  const rows = [colouring, ...live.shown.colourings.filter(({ id, effect }) => effect || id === "roles")];
  fillTip(
    tip,
    live.shown.heads[index][3],
    [...new Set(rows)].filter((one) => one.values[index] !== null),
    index,
  );
  placeTip(tip, event.target.getBoundingClientRect());
}

// Which head matters here?

const sweeping = latest(
  async (signal) => {
    const how = selections()[live.current].how;
    const fields = { how, question: live.question, client: `${TAB}-sweep` };
    if (live.option !== "") fields.option = Number(live.option);
    await listen("api/sweep", request(fields), signal, (event) => {
      if (event.option !== undefined) {
        live.sweep = startSweep(live.shown, event);
        live.by = "sweep";
      } else if (event.layer !== undefined) addLayer(live.shown, live.sweep, event);
      else live.sweep.seconds = event.seconds;
      drawHeads_();
    });
    live.sweeping = false;
    makePicker();
    remember();
    drawHeads_();
    drawHead();
  },
  (error) => {
    live.sweeping = false;
    drawHeads_();
    failed(error);
  },
);

function sweep() {
  if (!isTyped()) return;
  live.sweeping = true;
  live.sweep = null;
  drawHeads_();
  sweeping.call();
}

// Drawing.

function currentColouring() {
  if (live.by === "sweep" && live.sweep) return live.sweep;
  return live.shown.colourings.find(({ id }) => id === live.by) ?? onOrOff(live.shown, off());
}

// The groups of the model and its study, and after a sweep those of this text.
function makePicker() {
  const groups = [...sweepGroups(live.sweep), ...groupsOf(live.shown)];
  places.picker = groupPicker(groups, takeOff, () => takeOff(drawHeads(live.shown, off(), 10)));
}

const narrow = () => innerWidth < 900;

function roomOfGrid() {
  const wide = Math.min(1400, innerWidth - (narrow() ? 28 : 40));
  return { width: narrow() ? Math.min(wide, 640) : Math.round(wide * 0.44), height: narrow() ? 640 : 560 };
}

function makeGrid() {
  const colouring = currentColouring();
  const plainOnes = colouring.id === "";
  const drawn = grid(live.shown, colouring, {
    room: roomOfGrid(),
    most: 44,
    label: plainOnes ? "Heads, on or off" : undefined,
    chosen: live.head,
    gone: new Set(off()),
    goneSays: plainOnes ? "" : "switched off",
    open: (index) => {
      choose(index);
      flip([index]);
    },
    openLayer: (stack, layer) => flip(headsOfLayer(live.shown, stack, layer)),
    hover,
  });
  area(drawn, flip);
  return drawn;
}

function drawHeads_() {
  const colouring = currentColouring();
  const tools = historyTools({
    canUndo: live.history.canUndo,
    canRedo: live.history.canRedo,
    isOff: off().length > 0,
    undo,
    redo,
    reset: () => change([fresh(selections()[live.current].how)], { current: 0 }),
    add: () => change([...selections(), fresh()], { current: selections().length }),
  });
  keepFocus(headsPart, () => {
    headsPart.replaceChildren(
      h("div", { class: "title" }, h("h2", { id: "heads-title" }, "2 · Switch heads off"), tools),
      h(
        "p",
        { class: "quiet how-to" },
        "A row is a layer, a square an attention head. Click one to switch it off, a layer's name for the whole row, or " +
          "drag with Shift held.",
      ),
      places.picker,
      selectionList(live.model, selections(), live.current, {
        change: (at, what, merge = false) => {
          const next = selections().map((one, place) => (place === at ? { ...one, ...what } : one));
          slide(next, merge, at);
        },
        pick: (at) => {
          live.current = at;
          drawHeads_();
        },
        remove: (at) => {
          const next = selections().filter((_, place) => place !== at);
          change(next.length ? next : [fresh()], { current: 0 });
        },
      }),
      sweepTools(),
      h("div", { class: "grid-holder" }, makeGrid()),
      colouring.id === "" ? "" : legend(colouring),
    );
  });
}

// A slider that moves is one step of the history, and is not drawn anew under the pointer.
let sliding = false;
function slide(next, moves, at) {
  if (!moves && sliding) {
    sliding = false;
    followSelections();
    return;
  }
  if (!moves) return change(next, { current: at });
  live.history.push(next, { merge: sliding });
  sliding = true;
  live.current = at;
  live.written = {};
  remember();
  refresh();
}

function sweepTools() {
  const question = live.answer?.questions[live.question];
  const options = question && question.options.length > 1 ? question.options : [];
  const colourings = live.shown.colourings;
  const extra = [
    { value: "", title: "on or off" },
    ...(live.sweep ? [{ value: "sweep", title: "effect on this answer" }] : []),
  ];
  return h(
    "div",
    { class: "controls" },
    h(
      "button",
      { type: "button", class: "small strong", onclick: sweep, disabled: live.sweeping || !question },
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
          (value) => {
            live.option = value;
            if (live.sweep) sweep();
          },
        )
      : null,
    colourings.length || live.sweep
      ? chooser(
          "Colour by",
          { colourings },
          live.by,
          (by) => {
            live.by = by;
            remember();
            drawHeads_();
            drawHead();
          },
          { extra },
        )
      : null,
    h(
      "p",
      { class: "says sweep-words", role: "status" },
      live.sweep?.seconds === undefined
        ? ""
        : `${sweepWords(live.shown, live.sweep, signed)} ${live.shown.heads.length} heads in ${live.sweep.seconds.toFixed(1)} s.`,
    ),
  );
}

function drawAnswer() {
  const { answer, problem } = live;
  // What is shown was computed without so many heads; the next answer may be without others.
  const shownCount = answer ? live.answered : off().length;
  const nothing = problem ?? (isTyped() ? "The answer comes …" : "Type a text to see the model's answer.");
  keepFocus(answerPart, () =>
    answerPart.replaceChildren(
      h(
        "div",
        { class: "title" },
        h("h2", { id: "answer-title" }, "3 · Watch the answer"),
        answer ? h("span", { class: "quiet" }, `${Math.round(answer.milliseconds)} ms`) : null,
      ),
      ...(answer
        ? answerView(live.model, answer, {
            count: shownCount,
            question: live.question,
            choices: sentTexts().slice(1),
            choose: (number) => {
              live.question = number;
              live.option = "";
              dropSweep();
              remember();
              drawAnswer();
              drawHeads_();
            },
          })
        : [h("p", { class: problem ? "note problem" : "note", role: problem ? "alert" : null }, nothing)]),
      ...(answer && !shownCount && answer.questions.length
        ? [h("p", { class: "quiet" }, "Switch heads off, and the answer without them stands beside it.")]
        : []),
      places.written,
    ),
  );
  drawWritten();
  boxes?.warn([
    ...(answer?.cut
      ? [`The text is longer than the model reads: its first ${live.model.limits.tokens} tokens count.`]
      : []),
    ...(answer?.unlike ?? []),
  ]);
  const question = answer?.questions[live.question];
  const line = question ? inOneLine(live.model, question, shownCount) : "";
  summary.textContent = line && (shownCount ? `${line} · ${shownCount} off` : line);
  summary.classList.toggle("changed", Boolean(shownCount && question?.changed));
  spokenAnswer.textContent = line;
  const wanted = JSON.stringify(question?.options.map(({ option }) => option));
  if (places.options !== wanted) {
    places.options = wanted;
    drawHeads_();
  }
}

function drawWritten() {
  places.written.replaceChildren(...[continuations(live.written, off().length)].filter(Boolean));
}

function drawHead() {
  const room = narrow() ? Math.min(420, innerWidth - 140) : Math.min(430, Math.round(innerWidth * 0.3));
  const inStudy = live.study?.heads.findIndex((head) => head[3] === live.shown.heads[live.head][3]) ?? -1;
  keepFocus(headPart, () =>
    headPart.replaceChildren(
      ...headPanel(
        live.shown,
        live.head,
        live.answer,
        {
          isOff: off().includes(live.head),
          version: live.version,
          sweep: live.sweep,
          colouring: currentColouring(),
          room,
        },
        {
          toggle: () => flip([live.head]),
          open: inStudy >= 0 ? () => openHead(inStudy) : null,
          show: (version) => {
            live.version = version;
            drawHead();
          },
        },
      )
        .flat()
        .filter(Boolean),
    ),
  );
}

// Everything that the study knows of a head lies over the page, as in a report.
let studyText = 0;
function openHead(index) {
  const { heads } = live.study;
  panel.replaceChildren(
    headPage(live.study, index, {
      text: studyText,
      chooseText: (text) => {
        studyText = text;
      },
      close: closeHead,
      step: (by) => openHead((index + by + heads.length) % heads.length),
    }),
  );
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add("opened");
  for (const node of [top, body]) node.inert = true;
  panel.querySelector("#head-title").focus({ preventScroll: true });
}

function closeHead() {
  panel.hidden = true;
  panel.replaceChildren();
  document.body.classList.remove("opened");
  for (const node of [top, body]) node.inert = false;
  [...headPart.querySelectorAll("button")].find((one) => one.textContent === "All its numbers")?.focus();
}

const lights = theme(() => {
  if (!live.model) return;
  remember();
  drawHeads_();
  drawHead();
});

function drawTop() {
  const { model } = live;
  const facts = [model.kind, `${model.heads.length} heads`, model.device === "cpu" ? "" : model.device].filter(Boolean);
  top.replaceChildren(
    h("span", { class: "wordmark" }, "Headcount live"),
    h(
      "h1",
      {},
      h("span", { class: "name-of-model" }, model.model),
      facts.map((fact) => h("span", { class: "fact" }, fact)),
      live.study ? h("span", { class: "fact" }, `study ${live.study.name}`) : null,
    ),
    h(
      "div",
      { class: "tools" },
      copyButton("Copy link", linkOf, { name: "Copy link to this text and these heads" }),
      copyButton("Copy as Python", () => python(model, sentTexts(), selections())),
      copyButton("Copy as command", () => commands(model, selections()) || "headcount live", {}),
      lights.button,
    ),
  );
}

function undo() {
  live.history.undo();
  followSelections();
}
function redo() {
  live.history.redo();
  followSelections();
}

// The server that is lost, found again, or another one.

let isLost = false;
function lose() {
  answering.stop();
  writing.stop();
  sweeping.stop();
  live.sweeping = false;
  if (isLost) return;
  isLost = true;
  const port = location.port ? ` --port ${location.port}` : "";
  const study = live.model?.study ? " --study STUDY" : "";
  banner.replaceChildren(
    h("b", {}, "The server does not answer."),
    " Start it again with ",
    h("code", {}, `headcount live ${live.model?.model ?? "MODEL"}${study}${port}`),
    ": this page then goes on by itself, and what you typed stays.",
  );
  banner.hidden = false;
  seek();
}

async function seek() {
  while (!(await isThere())) await new Promise((done) => setTimeout(done, 1000));
  let model;
  try {
    model = await read("api/model");
  } catch (error) {
    if (error.code === "token") return askForToken();
    return setTimeout(seek, 1000);
  }
  if (live.model && identity(model) !== identity(live.model)) {
    writeAddress();
    location.reload();
    return undefined;
  }
  isLost = false;
  banner.hidden = true;
  if (!live.model) return start();
  drawHeads_();
  return refresh();
}

// Another model in the place of the old one needs another page.
const identity = ({ model, kind, heads, dtype, study, version }) =>
  JSON.stringify([model, kind, heads, dtype, study, version]);

function watch() {
  setInterval(async () => {
    if (!isLost && document.visibilityState === "visible" && !(await isThere())) lose();
  }, PULSE);
}

function askForToken() {
  const box = h("input", { type: "password", "aria-label": "Token", autocomplete: "off" });
  const go = () => {
    rememberToken(box.value.trim());
    location.reload();
  };
  banner.replaceChildren(
    h("b", {}, "This server needs its token. "),
    "It stands behind # in the address that headcount printed. ",
    box,
    " ",
    h("button", { type: "button", class: "small strong", onclick: go }, "Go on"),
  );
  box.addEventListener("keydown", (event) => event.key === "Enter" && go());
  banner.hidden = false;
  box.focus();
}

// The beginning.

async function start() {
  const { token, rest } = takeToken(location.hash);
  if (token) {
    rememberToken(token);
    history.replaceState(null, "", rest || location.pathname);
  }
  page.replaceChildren(banner, top, body, summary, panel, tip, spokenAnswer);
  try {
    live.model = await read("api/model");
    if (live.model.study) await readStudy();
  } catch (error) {
    live.model = null;
    if (error.code === "token") return askForToken();
    if (error.code === "gone") return lose();
    banner.textContent = error.message;
    banner.hidden = false;
    return undefined;
  }
  live.shown = shownStudy(live.model, live.study);
  const wanted = readLink(live.model, location.hash);
  take(wanted);
  document.title = `${live.model.model} · Headcount live`;
  places.written = h("div", {});
  makePicker();
  boxes = textBoxes(live.model, live.texts, typed);
  drawTop();
  body.replaceChildren(
    h(
      "p",
      { class: "lead" },
      "What does the model's answer owe to a head? Switch it off, and see the answer change: the whole model always stands " +
        "beside the model without these heads.",
    ),
    h("div", { class: "live" }, boxes.node, answerPart, headsPart, headPart),
  );
  drawHeads_();
  drawAnswer();
  drawHead();
  refresh();
  listenToAll();
  return undefined;
}

function take(wanted) {
  if (wanted.theme) setTheme(wanted.theme);
  lights.show();
  live.texts = wanted.texts ?? firstExample();
  live.history = makeHistory(wanted.selections);
  live.current = wanted.selections.length - 1;
  live.by = wanted.by === "sweep" ? "" : wanted.by;
  live.question = wanted.question;
  live.head = wanted.head ?? firstHead();
}

// A short one, whose map can be read.
function firstExample() {
  const { examples } = live.model;
  const size = (texts) => texts.join(" ").length;
  return examples.find((texts) => size(texts) >= 20 && size(texts) <= 110) ?? examples[0] ?? [""];
}

// The head that is shown at first: the best example of the study, or the last one that is off, or the first of all.
function firstHead() {
  const gone = off();
  if (gone.length) return gone.at(-1);
  const best = live.study?.best?.[0];
  const name = best ? live.study.heads[best.head][3] : null;
  return Math.max(
    0,
    live.shown.heads.findIndex((head) => head[3] === name),
  );
}

// The study's maps are read from inert blocks, as in a report.
async function readStudy() {
  const data = await read("api/study");
  live.study = data.studies[0];
  live.study.notes = data.notes;
  for (const [id, text] of Object.entries(data.blobs)) page.append(h("script", { type: "text/plain", id }, text));
}

function listenToAll() {
  watch();
  addEventListener("hashchange", () => {
    const { token } = takeToken(location.hash);
    if (token) return location.reload();
    take(readLink(live.model, location.hash));
    boxes.fill(live.texts);
    live.sweep = null;
    followSelections();
    return undefined;
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) return closeHead();
    const isText = /^(INPUT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range";
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || isText) return undefined;
    event.preventDefault();
    return event.shiftKey ? redo() : undo();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (Math.abs(innerWidth - width) < 40) return;
    width = innerWidth;
    drawHeads_();
    drawHead();
  });
  addEventListener("scroll", () => {
    tip.hidden = true;
  });
}

start();
