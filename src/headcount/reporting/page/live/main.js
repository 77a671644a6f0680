// The live page: a text is typed, heads are switched off, and the server's answers are shown beside each other.
import { h } from "../dom.js";
import { keepFocus } from "../keep_focus.js";
import { copyButton } from "../share.js";
import { chosenTheme, setTheme, theme } from "../theme.js";
import { fillTip, placeTip } from "../tip.js";
import { readLink, takeToken, writeLink } from "./address.js";
import { answerView, continuations, inOneLine } from "./answer.js";
import { commands, python } from "./code.js";
import { addLayer, firstColouring, startSweep } from "./colourings.js";
import { headPanel } from "./head_panel.js";
import { coloured, headsPart } from "./heads_part.js";
import { imageBox } from "./image_box.js";
import { latest } from "./latest.js";
import { ask, listen, read, rememberToken } from "./requests.js";
import { allOff, asked, fresh, makeHistory, switchOff, toggle } from "./selections.js";
import { identity, serverWatch } from "./server_watch.js";
import { shownStudy } from "./shown_study.js";
import { studyPanel } from "./study_panel.js";
import { textBoxes } from "./text_boxes.js";

const page = document.getElementById("page");
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join(
  "",
);
const IDLE = 450; // milliseconds without a key before the models write on
const REST = 110; // milliseconds that the pointer rests on a head before it is the chosen one
const NEW_TOKENS = 24;
const FIRST = { similarity: "the first text", "multiple-choice": "the context with the first choice" };
const TOP = 8; // options of each answer that are listed

const live = {
  model: null,
  study: null,
  shown: null,
  options: "",
  texts: [],
  history: makeHistory([fresh()]),
  current: 0,
  head: null,
  by: "",
  question: 0,
  option: "",
  version: "whole",
  token: 0,
  answer: null,
  answered: 0,
  problem: null,
  sweep: null,
  sweeping: false,
  written: {},
};

const part = (tag, attributes) => h(tag, attributes);
const top = part("header", { class: "top" });
const body = part("main", { id: "body", tabindex: -1 });
const answerPart = part("section", { class: "live-answer", "aria-labelledby": "answer-title" });
const headPart = part("section", { class: "live-head", "aria-labelledby": "chosen-head" });
const summary = part("div", { class: "summary", "aria-hidden": "true" });
const tip = part("div", { class: "tip", role: "status", hidden: true });
// What a screen reader is told when an answer has come.
const spokenAnswer = part("p", { class: "for-readers", role: "status" });
const written = part("div", {});
let boxes = null;
let heads = null;

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
  try {
    const fields = {
      off: asked(live.model, selections()),
      map: live.shown.heads[live.head][3],
      client: `${TAB}-answer`,
      top: TOP,
    };
    const count = off().length;
    live.answer = await ask("api/answer", request(fields), signal);
    Object.assign(live, { problem: null, answered: count });
  } finally {
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

function askAgain() {
  answerPart.setAttribute("aria-busy", "true");
  answering.call();
}

function failed(error) {
  if (error.code === "gone") return watch.lose(live.model);
  if (error.code === "token") return watch.askForToken();
  if (error.code === "busy" || error.code === "rate") return setTimeout(refresh, 700);
  live.problem = error.message;
  live.answer = null;
  drawAnswer();
  return drawHead();
}

// A new answer, for a new text or other heads.
function refresh() {
  writing.stop();
  if (isTyped()) askAgain();
  else {
    answering.stop();
    answerPart.removeAttribute("aria-busy");
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
const hashOf = () => {
  const by = live.by === firstColouring(live.shown) ? "" : live.by;
  return writeLink(live.model, { ...live, by, selections: selections(), theme: chosenTheme() });
};
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
  if (live.by === "sweep") live.by = firstColouring(live.shown);
  endSweep();
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
  heads.drawSelections();
  heads.drawGrid();
  drawAnswer();
  drawHead();
  refresh();
}

const flip = (heads) => change(toggle(selections(), live.current, heads));
const takeOff = (heads) => change(switchOff(selections(), live.current, heads));

function choose(index) {
  if (live.head === index) return;
  live.head = index;
  for (const node of heads.node.querySelectorAll(".cell.chosen")) node.classList.remove("chosen");
  heads.node.querySelector(`.cell[data-head="${index}"]`)?.classList.add("chosen");
  remember();
  drawHead();
  if (isTyped()) askAgain();
}

let resting = null;
function hover(index, event) {
  clearTimeout(resting);
  tip.hidden = true;
  if (index === null) return;
  resting = setTimeout(() => choose(index), event.type === "focus" ? 0 : REST);
  const colouring = coloured(live);
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
        live.sweep = startSweep(live.shown, event, live.model.images ? "image" : "text");
        live.by = "sweep";
      } else if (event.layer !== undefined) addLayer(live.shown, live.sweep, event);
      else live.sweep.seconds = event.seconds;
      heads.drawGrid();
    });
    endSweep();
    remember();
    drawHead();
  },
  (error) => {
    endSweep();
    failed(error);
  },
);

function endSweep() {
  live.sweeping = false;
  heads.drawPicker();
  heads.drawSweep();
  heads.drawGrid();
}

// `option`: another one than before, after which a sweep that is shown begins anew.
function sweep(option = null) {
  if (!isTyped()) return;
  if (option !== null) {
    live.option = option;
    if (!live.sweep && !live.sweeping) return;
  }
  Object.assign(live, { sweeping: true, sweep: null });
  heads.drawSweep();
  sweeping.call();
}

// Drawing.

const narrow = () => innerWidth < 900;

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

function drawAnswer() {
  const { answer, problem } = live;
  // What is shown was computed without so many heads; the next answer may be without others.
  const shownCount = answer ? live.answered : off().length;
  const empty = live.model.images
    ? "Give an image to see the model's answer."
    : "Type a text to see the model's answer.";
  const nothing = problem ?? (isTyped() ? "The answer comes …" : empty);
  keepFocus(answerPart, () =>
    answerPart.replaceChildren(
      h(
        "div",
        { class: "title" },
        h("h2", { id: "answer-title" }, h("span", { class: "step" }, "3 · "), "Watch the answer"),
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
              heads.drawSweep();
            },
          })
        : [h("p", { class: problem ? "note problem" : "note", role: problem ? "alert" : null }, nothing)]),
      ...(answer && !shownCount && answer.questions.length
        ? [h("p", { class: "quiet" }, "Switch heads off, and the answer without them stands beside it.")]
        : []),
      written,
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
  if (live.options === wanted) return;
  live.options = wanted;
  heads.drawSweep();
}

function drawWritten() {
  written.replaceChildren(...[continuations(live.written, off().length)].filter(Boolean));
}

function drawHead() {
  const room = Math.max(120, narrow() ? Math.min(420, innerWidth - 140) : Math.min(430, Math.round(innerWidth * 0.3)));
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
          colouring: coloured(live),
          room,
          patches: live.model.patches,
          token: live.token,
          of: live.model.several_rows ? FIRST[live.model.kind] : "",
        },
        {
          toggle: () => flip([live.head]),
          open: inStudy >= 0 ? () => study.open(live.study, inStudy) : null,
          show: (version) => {
            live.version = version;
            drawHead();
          },
          look: (token) => {
            const isByKey = document.activeElement?.classList.contains("patch-map");
            live.token = token;
            drawHead();
            if (isByKey) headPart.querySelector(".patch-map").focus({ preventScroll: true });
          },
        },
      )
        .flat()
        .filter(Boolean),
    ),
  );
}

const lights = theme(() => {
  if (!live.model) return;
  remember();
  heads.drawGrid();
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
      model.images ? null : copyButton("Copy as command", () => commands(model, selections()) || "headcount live", {}),
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

// Where it is another model, the page begins again with the same address.
const watch = serverWatch({
  lost: () => {
    answering.stop();
    writing.stop();
    sweeping.stop();
    live.sweeping = false;
  },
  found: (model) => {
    if (!live.model) return start();
    if (identity(model) === identity(live.model)) {
      heads.drawSweep();
      return refresh();
    }
    writeAddress();
    return location.reload();
  },
});

const study = studyPanel([top, body], () =>
  [...headPart.querySelectorAll("button")].find((one) => one.textContent === "All its numbers")?.focus(),
);

// The beginning.

async function start() {
  const { token, rest } = takeToken(location.hash);
  if (token) {
    rememberToken(token);
    history.replaceState(null, "", rest || location.pathname);
  }
  const skip = h("a", { class: "skip", href: "#body" }, "Skip to the text");
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    boxes?.focus();
  });
  page.replaceChildren(skip, watch.node, top, body, summary, study.node, tip, spokenAnswer);
  try {
    live.model = await read("api/model");
    if (live.model.study) await readStudy();
  } catch (error) {
    live.model = null;
    if (error.code === "token") return watch.askForToken();
    if (error.code === "gone") return watch.lose(null);
    return watch.tell(error.message);
  }
  live.shown = shownStudy(live.model, live.study);
  const wanted = readLink(live.model, location.hash);
  take(wanted);
  document.title = `${live.model.model} · Headcount live`;
  boxes = (live.model.images ? imageBox : textBoxes)(live.model, live.texts, typed);
  heads = headsPart(live, {
    flip,
    takeOff,
    change,
    slide,
    undo,
    redo,
    choose,
    hover,
    sweep,
    by: (by) => {
      live.by = by;
      remember();
      heads.drawGrid();
      drawHead();
    },
  });
  drawTop();
  body.replaceChildren(
    h(
      "p",
      { class: "lead" },
      "What does the model's answer owe to a head? Switch it off, and see the answer change: the whole model always stands " +
        "beside the model without these heads.",
    ),
    h(
      "div",
      { class: "live" },
      h("div", { class: "column" }, boxes.node, heads.node),
      h("div", { class: "column" }, answerPart, headPart),
    ),
  );
  boxes.fill(live.texts);
  heads.drawPicker();
  heads.drawSelections();
  heads.drawSweep();
  heads.drawGrid();
  drawAnswer();
  drawHead();
  refresh();
  listenToAll();
  return undefined;
}

function take(wanted) {
  if (wanted.theme) setTheme(wanted.theme);
  lights.show();
  live.texts = wanted.texts ?? (live.model.images && live.texts.length ? live.texts : firstExample());
  live.history = makeHistory(wanted.selections);
  live.current = wanted.selections.length - 1;
  live.by = wanted.by && wanted.by !== "sweep" ? wanted.by : firstColouring(live.shown);
  live.question = wanted.question;
  live.head = wanted.head ?? firstHead();
}

// The shortest text, whose map can be read best.
function firstExample() {
  if (live.model.images) return live.model.examples[0];
  const size = (texts) => texts.join(" ").length;
  return [...live.model.examples].sort((a, b) => size(a) - size(b))[0] ?? [""];
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
  watch.start(live.model);
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
    const isText = /^(INPUT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range";
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || isText) return undefined;
    event.preventDefault();
    return event.shiftKey ? redo() : undo();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (Math.abs(innerWidth - width) < 40) return;
    width = innerWidth;
    boxes.fill(live.texts);
    heads.drawGrid();
    drawHead();
  });
  addEventListener("scroll", () => {
    tip.hidden = true;
  });
}

start();
