// The page of one head: what it does, where it looks, what happens without it, and where it stands among all heads.
import { h, select } from "./dom.js";
import { flips } from "./flips.js";
import { explained } from "./glossary.js";
import { headMap, versions } from "./head_map.js";
import { numbers, offsets, relations } from "./head_numbers.js";
import { headPatterns } from "./head_patterns.js";
import { headStrip } from "./head_strip.js";
import { mapTexts } from "./map_texts.js";
import { headPositions } from "./positions.js";
import { effectWords, patchWords, patternWords, roleWords, sharedWords, strengthWords } from "./told_heads.js";

// `pin`, `copy`: where heads can be pinned and a link to one copied. `compare`: where two or more are pinned.
export function headPage(study, index, { text, chooseText, close, step, pin, pinned, compare, copy }) {
  const name = study.heads[index][3];
  const role = roleWords(study, index);
  const button = (label, title, work, extra = {}) =>
    h("button", { type: "button", class: "small", "aria-label": label, onclick: work, ...extra }, title);
  const header = h(
    "header",
    {},
    h(
      "div",
      {},
      h(
        "div",
        { class: "head-name" },
        h("h2", { id: "head-title", tabindex: -1 }, name),
        role ? h("p", { class: "role" }, role) : null,
      ),
      h("p", { class: "caption" }, explained(subtitle(study, index))),
    ),
    h(
      "nav",
      { "aria-label": "This head" },
      button("Previous head", "‹", () => step(-1)),
      button("Next head", "›", () => step(1)),
      pin ? button(pinned ? "Unpin this head" : "Pin to compare", pinned ? "Unpin" : "Pin", pin) : null,
      compare ? button("Compare the pinned heads", "Compare", compare) : null,
      copy ? button("Copy link to this head", "Copy link", copy) : null,
      button("Close", "✕", close, { class: "small close" }),
    ),
  );
  const columns = h("div", { class: "head-columns" });
  const rest = () =>
    columns.append(
      ...[
        headStrip(study, index),
        headPatterns(study, index),
        ...study.positions.map((told) => headPositions(told, index, name)),
        ...flips(study, index),
        relations(study, index),
        offsets(study, index),
        numbers(study, index),
      ].filter(Boolean),
    );
  const node = h("div", { class: "head-page" }, header);
  if (study.maps.length) {
    // The map is what people open a head for: all else is drawn when it has been painted.
    const painted = attention(study, index, text, chooseText);
    node.append(painted.node, columns);
    painted.painted.then(rest);
  } else {
    node.append(columns);
    rest();
  }
  return node;
}

function subtitle(study, index) {
  const pattern = patternWords(study, index);
  const said = [
    strengthWords(study, index),
    pattern ? `Its maps are mostly ${pattern}.` : "",
    effectWords(study, index),
    patchWords(study, index),
    sharedWords(study, index),
  ];
  for (const told of study.probes) {
    const best = told.rows.filter((row) => row.head === index).map((row) => row.relation);
    if (best.length) said.push(`Best head for ${best.join(", ")} (${told.name}).`);
  }
  return said.filter(Boolean).join(" ");
}

// In the second frame it is sure that what was drawn has been painted.
const painting = () =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))));

function attention(study, index, text, chooseText) {
  const texts = mapTexts(study);
  const state = { text: Math.min(text, texts.length - 1), version: 0 };
  const told = h("p", { class: "caption told", "aria-live": "polite" });
  const container = h("div", { class: "map" });
  const switches = h("div", {});
  let turn = 0;
  const draw = async (shown = () => {}) => {
    const mine = ++turn;
    const one = texts[state.text];
    switches.replaceChildren(
      ...[
        versions(study, one, state.version, (version) => {
          state.version = version;
          draw();
        }),
      ].filter(Boolean),
    );
    const left = h("div", { class: "map-side" });
    const right = h("div", { class: "map-side" });
    const room = Math.min(560, Math.max(240, Math.min(innerWidth, 1360) / (innerWidth < 1100 ? 1 : 2) - 160));
    const parts = await headMap(study, study.heads[index], one, state.version, { told, room });
    if (mine !== turn) return; // another text was chosen meanwhile
    left.append(parts.first, told, ...(parts.look ? [parts.look.node] : []));
    container.replaceChildren(left, right);
    await painting();
    shown();
    const lines = mine === turn ? parts.lines() : null;
    if (lines) right.append(lines);
  };
  const painted = new Promise((done) => draw(done));
  const chooser =
    texts.length > 1
      ? select(
          "Text",
          texts.map((one, at) => ({ value: String(at), title: one.title })),
          String(state.text),
          (value) => {
            Object.assign(state, { text: Number(value), version: 0 });
            chooseText(state.text);
            draw();
          },
        )
      : h("p", { class: "caption" }, texts[0].title);
  const node = h(
    "section",
    {},
    h("h3", {}, "Where it looks"),
    h("div", { class: "controls" }, chooser, switches),
    container,
  );
  return { node, painted };
}
