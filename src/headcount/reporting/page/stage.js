// The first screen: the grid with its controls and legend, and beside it the head that is pointed at.
import { findings } from "./about.js";
import { stepsOf } from "./bins.js";
import { bestExamples, headCard } from "./card.js";
import { chooser } from "./choices.js";
import { colours, isDark } from "./colour.js";
import { curves } from "./curves.js";
import { h, select } from "./dom.js";
import { figure } from "./download.js";
import { cellOf, estimate, sure } from "./format.js";
import { emptyNote, grid } from "./grid.js";
import { hint } from "./hint.js";
import { legend } from "./legend.js";
import { mapTexts, nameOf } from "./map_texts.js";
import { keeps } from "./order.js";
import { orderColouring, removalPanel, removals } from "./removal.js";
import { thumbnails } from "./thumbnails.js";
import { effectOf } from "./told_heads.js";

// The filter of a view as `keeps` takes it.
export const filterOf = (state, colouring) => ({
  find: state.find,
  only: state.sure,
  kinds: state.kinds,
  steps: colouring && colouring.kind !== "category" ? stepsOf(colouring, colours(colouring).domain) : null,
});

// What the grid shows in this view: one of the study's numbers, or the order in which heads go.
export function shownColouring(study, state) {
  const removal = state.tab === "small" && !state.by ? removals(study)[state.which] : null;
  if (removal) return orderColouring(study, removal);
  const found = study.colourings.find((colouring) => colouring.id === state.number) ?? null;
  // Where nothing but maps is known, frames say nothing.
  return found?.id === "present" ? { ...found, none: 0 } : found;
}

// `actions`: open, hover, pin, and change(what), which changes the view and draws what depends on it.
export function stage(study, state, actions) {
  const colouring = shownColouring(study, state);
  const texts = mapTexts(study);
  const node = h("div", { id: "centre", class: "stage" });
  if (!colouring) return { node, card: () => {}, fit: () => {} };
  const left = h("div", { class: "stage-grid" });
  const cardHolder = h("div", { class: "card-holder" });
  const right = h("div", { class: "stage-side" });
  const redraw = actions.change;
  const framed = colouring.kind === "category" && texts.length > 0;
  const filter = filterOf(state, colouring);
  const matches = (index) => keeps(study.heads[index][3], index, colouring, filter);
  const maps = texts[state.text]?.maps[state.version] ?? texts[state.text]?.maps[0] ?? null;
  const told = removals(study)[state.which];
  const gone = () => new Set(state.tab === "small" && told ? told.heads.slice(0, state.gone) : []);

  // Pictures are painted once it is known how large the grid is.
  let [settle, turn] = [() => {}, 0];
  const settled = new Promise((done) => {
    settle = done;
  });
  const painter = () => {
    const mine = ++turn;
    return async (cells, layout) => {
      await settled;
      if (mine !== turn) return new Promise(() => {}); // it was drawn again meanwhile
      return {
        href: await thumbnails(maps, layout, inset(cells), { dark: isDark() }),
        light: cachedLight(maps, layout, inset(cells)),
      };
    };
  };
  const room = roomOf(study);
  const effect = effectOf(study);
  const marks = framed ? effect : colouring;

  const makeGrid = () =>
    grid(study, colouring, {
      room,
      marks,
      most: study.colourings.length === 1 ? 110 : 64,
      matches,
      chosen: state.head,
      found: onlyMatch(study, state, matches),
      framed,
      order: state.sort === "value" ? orderBy(colouring) : null,
      means: state.sort === "mean",
      gone: gone(),
      paint: maps ? painter() : null,
      open: actions.open,
      hover: actions.hover,
    });

  let drawn = makeGrid();
  const redrawGrid = () => {
    const again = makeGrid();
    drawn.replaceWith(again);
    drawn = again;
  };
  // As wide as the grid, whatever its legend says, so that tabs and numbers do not move what is beside it.
  const widen = () => node.style.setProperty("--grid-width", `${Math.max(520, drawn.width.baseVal.value)}px`);
  widen();
  // Once it stands in the page: a grid whose legend would be below the window is made smaller.
  const fit = () => {
    // A narrower grid may give its legend another line: the second time it is right.
    for (let time = 0; time < 2 && innerWidth >= 900; time++) {
      const over = left.getBoundingClientRect().bottom + scrollY - innerHeight + 6;
      if (over <= 0 || room.height <= LEAST_ROOM) break;
      room.height = Math.max(LEAST_ROOM, drawn.height.baseVal.value - over);
      redrawGrid();
      widen();
    }
    settle();
  };
  const noneLeft = () => {
    if (study.heads.some((_, index) => matches(index))) return null;
    const tested = state.sure && !state.find && !state.kinds.length;
    return emptyNote(
      tested
        ? "No head has a significant effect: nothing is left by this filter."
        : "No head is left by these filters.",
    );
  };
  const rows = () => gridRows(study, colouring);
  const key =
    colouring.id === "present"
      ? null
      : legend(colouring, { chosen: state.kinds, choose: (kinds) => redraw({ kinds }), marks: framed ? effect : null });
  const content = h("div", { class: "with-legend" }, drawn, noneLeft(), key);
  left.append(
    ...[
      figure(framed ? "Every head" : colouring.title, null, content, {
        rows,
        level: "h2",
        subject: [study.model, study.task, framed ? colouring.title : "", framed ? texts[state.text]?.title : ""]
          .filter(Boolean)
          .join(", "),
      }),
    ].filter(Boolean),
  );

  const card = (index) => {
    if (index === null || index === undefined || !study.heads[index]) return;
    cardHolder.replaceChildren(
      headCard(study, index, {
        maps,
        colouring: colouring.id === "order" ? null : colouring,
        open: actions.open,
        pin: actions.pin,
        pinned: state.pins.includes(index),
        brief: state.tab === "small",
      }),
    );
  };

  if (state.tab === "small") {
    const all = removals(study);
    if (all.length) {
      const which = Math.min(state.which, all.length - 1);
      right.append(
        removalPanel(all, which, state.gone, {
          drawn: curves(all[which].curve, { brief: true }),
          change: (count) => {
            state.gone = count;
            redrawGrid();
          },
          settled: actions.remember,
          choose: (other) => redraw({ which: other, gone: null, removed: null }),
        }),
      );
    } else right.append(missing(study, "how many heads can go"));
    right.append(cardHolder);
  } else {
    right.append(cardHolder);
    const examples =
      state.tab === "without" ? largestEffects(study, actions.open, maps) : bestExamples(study, maps, actions.open);
    if (state.tab === "without" && !effectOf(study) && !study.colourings.some(({ patched }) => patched))
      right.prepend(missing(study, "what the score is without each head"));
    if (examples) right.append(examples);
  }
  const said = findings(study);
  if (said) right.append(said);
  node.append(controls(study, state, colouring, texts, { redraw, actions, matches }), hint(framed) ?? "", left, right);
  return { node, card, colouring, matches, fit };
}

const LEAST_ROOM = 170;

const inset = (cells) =>
  cells.map((cell) => {
    const edge = Math.max(2, Math.min(4, cell.side / 9));
    return { ...cell, x: cell.x + edge, y: cell.y + edge, side: cell.side - 2 * edge };
  });

// Downloads are light: the light picture is made beside the dark one, so that saving need not wait.
function cachedLight(maps, layout, cells) {
  let href = "";
  thumbnails(maps, layout, cells, { dark: false }).then((made) => {
    href = made;
  });
  return () => href;
}

const orderBy = (colouring) => (index) => {
  const value = colouring.values[index];
  if (value === null || value === undefined) return Number.MAX_VALUE;
  return colouring.kind === "category" ? value : -value;
};

function onlyMatch(study, state, matches) {
  if (!state.find) return null;
  const found = study.heads.map((_, index) => index).filter(matches);
  return found.length === 1 ? found[0] : null;
}

function roomOf(study) {
  const wide = Math.min(1400, innerWidth - 40);
  const narrow = wide < 850;
  const alone = study.colourings.length === 1;
  return {
    width: narrow ? Math.min(wide, 640) : Math.round(wide * (alone ? 0.52 : 0.44)),
    height: narrow ? 640 : Math.max(380, Math.min(720, innerHeight - (alone ? 260 : 380))),
  };
}

function controls(study, state, colouring, texts, { redraw, actions, matches }) {
  const removal = removals(study);
  const extra = state.tab === "small" && removal.length ? [{ value: "", title: "Order in which heads go" }] : [];
  const versions = texts[state.text]?.maps ?? [];
  const framed = colouring.kind === "category" && texts.length > 0;
  const enter = (event) => {
    const first = study.heads.findIndex((_, index) => matches(index));
    if (event.key === "Enter" && state.find && first >= 0) actions.open(first);
  };
  const significant = h("input", {
    type: "checkbox",
    checked: state.sure,
    onchange: (event) => redraw({ sure: event.target.checked }),
  });
  const count = study.heads.filter((_, index) => sure(colouring, index)).length;
  return h(
    "div",
    { class: "controls" },
    // With nothing but maps there is nothing to choose from.
    study.colourings.length + extra.length > 1
      ? chooser(
          "Colour by",
          study,
          extra.length && !state.by ? "" : colouring.id,
          (by) => redraw({ by, kinds: [], sort: state.sort }),
          { extra },
        )
      : null,
    framed && texts.length > 1
      ? select(
          "Text of the maps",
          texts.map((one, at) => ({ value: String(at), title: one.title })),
          String(state.text),
          (value) => redraw({ text: Number(value), version: 0 }),
        )
      : null,
    framed && versions.length > 1
      ? select(
          "Maps of",
          versions.map((maps, at) => ({ value: String(at), title: nameOf(study, maps) })),
          String(state.version),
          (value) => redraw({ version: Number(value) }),
        )
      : null,
    select(
      "Heads of a layer",
      [
        { value: "", title: "by their number" },
        { value: "value", title: "sorted by what is shown" },
        ...(colouring.kind === "category" ? [] : [{ value: "mean", title: "with their mean" }]),
      ],
      state.sort,
      (sort) => redraw({ sort }),
    ),
    h(
      "label",
      { class: "choice" },
      h("span", {}, "Find a head"),
      h("input", {
        type: "search",
        placeholder: "L3H7",
        size: 7,
        value: state.find,
        "aria-label": "Find a head",
        oninput: (event) => redraw({ find: event.target.value }),
        onkeydown: enter,
      }),
    ),
    colouring.q
      ? h("label", { class: "choice check" }, significant, h("span", {}, `only significant ones (${count})`))
      : null,
  );
}

const gridRows = (study, colouring) =>
  study.heads.map((head, index) => ({
    model: study.model,
    task: study.task,
    head: head[3],
    number: colouring.title,
    value: cellOf(colouring, index),
    unit: colouring.unit,
    low: colouring.low?.[index] ?? null,
    high: colouring.high?.[index] ?? null,
    q: colouring.q?.[index] ?? null,
  }));

// What a tab lacks, with the command that would compute it.
function missing(study, what) {
  const gap = study.gaps.find((one) => one.what === what);
  if (!gap) return "";
  return h(
    "p",
    { class: "missing-note" },
    `This study does not say ${what}. To measure it:`,
    h("br"),
    h("code", {}, gap.command),
  );
}

// The heads whose removal changes the score most for the worse.
function largestEffects(study, open, maps) {
  const effect = effectOf(study);
  if (!effect) return null;
  const sign = effect.higher === false ? -1 : 1;
  const heads = effect.values
    .map((value, index) => [index, value])
    .filter(([, value]) => value !== null && sign * value < 0)
    .sort((a, b) => sign * (a[1] - b[1]))
    .slice(0, 4);
  const best = heads.map(([head]) => ({
    title: sure(effect, head) ? "Significant" : "Not significant",
    head,
    said: estimate(effect, head),
  }));
  const found = best.length ? bestExamples({ ...study, best }, maps, open) : null;
  if (found) found.querySelector("h2").textContent = `Heads without which ${effect.unit} is worst`;
  return found;
}
