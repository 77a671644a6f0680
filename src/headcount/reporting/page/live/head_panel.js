// The chosen head for the typed text: what its study knows of it, its map whole and without the heads that are off, arcs.
import { h } from "../dom.js";
import { shown as shownValue, signed } from "../format.js";
import { explained } from "../glossary.js";
import { tokenMap } from "../maps.js";
import { CHANGES, difference, WEIGHTS } from "../shades.js";
import { effectWords, patchWords, patternWords, roleWords, sharedWords, strengthWords } from "../told_heads.js";
import { bytesOf } from "../unpack.js";
import { arcsSay, wordArcs } from "../word_arcs.js";
import { SWITCHED } from "./colourings.js";
import { patchMap } from "./patch_map.js";

const VERSIONS = [
  ["whole", "Whole model"],
  ["without", "Without the heads"],
  ["change", "Difference"],
];

// `found`: the server's answer. `state`: off (whether this head is), version, sweep, of several texts which one its map is
// of, of an image its patches and the token that looks. `actions`: toggle, open, show, look.
export function headPanel(shown, index, found, state, { toggle, open, show, look }) {
  const { isOff, version, sweep, colouring, room, patches, token, of } = state;
  const name = shown.heads[index][3];
  const role = roleWords(shown, index);
  const pattern = patternWords(shown, index);
  const facts = [
    strengthWords(shown, index),
    pattern ? `Its maps are mostly ${pattern}.` : "",
    sharedWords(shown, index),
    effectWords(shown, index) || patchWords(shown, index),
    importanceWords(shown, index),
    ownNumber(index, colouring),
    sweepFact(sweep, index, found?.seen ? "image" : "text"),
  ].filter(Boolean);
  const told = h("p", { class: "told", role: "status" });
  return [
    h(
      "div",
      { class: "title" },
      h(
        "div",
        { class: "head-name" },
        h("h2", { id: "chosen-head" }, name),
        role ? h("p", { class: "role" }, role) : null,
      ),
      h(
        "div",
        { class: "tools" },
        h(
          "button",
          { type: "button", class: "small", "aria-pressed": String(isOff), onclick: toggle },
          isOff ? "Switch on" : "Switch off",
        ),
        open ? h("button", { type: "button", class: "small", onclick: open }, "All its numbers") : null,
      ),
    ),
    facts.length
      ? h(
          "p",
          { class: "facts" },
          facts.flatMap((fact) => [...explained(fact), " "]),
        )
      : null,
    ...mapOf(found, name, { version, room, told, show, patches, token, look, of }),
  ];
}

function importanceWords(shown, index) {
  const found = shown.colourings.find(({ id }) => /^pruning\/importance/.test(id));
  if (!found || found.values[index] === null) return "";
  return `${found.title}: ${shownValue(found, index)}${found.unit ? ` ${found.unit}` : ""}.`;
}

// What the grid shows of it, where that is not said anyway.
function ownNumber(index, colouring) {
  const isSaid =
    !colouring ||
    [SWITCHED, "sweep", "roles", "patterns"].includes(colouring.id) ||
    colouring.effect ||
    /^pruning\/importance/.test(colouring.id);
  if (isSaid || colouring.values[index] === null) return "";
  return `${colouring.title}: ${shownValue(colouring, index)}${colouring.unit ? ` ${colouring.unit}` : ""}.`;
}

function sweepFact(sweep, index, input) {
  if (!sweep || sweep.values[index] === null) return "";
  const what = sweep.first.of === "log_probability" ? `the log-probability of “${sweep.first.name}”` : "the number";
  const turned = sweep.flips[index] ? ", and another answer wins" : "";
  return `In this ${input}, without it alone ${what} changes by ${signed(sweep.values[index])}${turned}.`;
}

// Tokens as they are read: without the signs of byte-pair vocabularies for a space and a new line.
export const readable = (token) =>
  token
    .replace(/^[Ġ▁](?=.)/u, "")
    .replace(/^[Ġ▁]$/u, "␣")
    .replaceAll("Ċ", "⏎");

function mapOf(found, name, { version, room, told, show, patches, token, look, of }) {
  const map = found?.map;
  if (!map || map.head !== name) return [h("p", { class: "quiet" }, "Its map comes with the next answer.")];
  const [queries, keys] = [found.tokens[map.query_side], found.tokens[map.key_side]].map((side) => side.map(readable));
  const whole = bytesOf(map.whole.bytes);
  const other = map.without ? bytesOf(map.without.bytes) : null;
  const which = other ? version : "whole";
  const bytes = which === "whole" ? whole : which === "without" ? other : difference(other, whole);
  const shades = which === "change" ? CHANGES : WEIGHTS;
  const isTwice = queries.length !== keys.length || queries.some((token, at) => token !== keys[at]);
  const drawn = which === "change" ? (other ?? whole) : bytes;
  const isSame = other?.every((byte, at) => byte === whole[at]);
  return [
    other
      ? h(
          "div",
          { class: "switch", role: "group", "aria-label": "Map of" },
          VERSIONS.map(([value, title]) =>
            h(
              "button",
              { type: "button", class: "small", "aria-pressed": String(value === which), onclick: () => show(value) },
              title,
            ),
          ),
          isSame ? h("span", { class: "quiet" }, "The heads that are off do not change this map.") : null,
        )
      : null,
    found.seen && patches
      ? patchMap(bytes, queries, { patches, seen: found.seen, shades, token, room, choose: look })
      : null,
    !found.seen && (queries.length > 1 || keys.length > 1)
      ? [wordArcs(drawn, queries, keys, { twice: isTwice }), h("p", { class: "quiet" }, arcsSay(isTwice))]
      : null,
    h(
      "div",
      { class: "live-map" },
      h("p", { class: "caption" }, `A row shows where a token attends${of ? ` in ${of}` : ""}. ${shades.says}`),
      told,
      tokenMap(bytes, queries, keys, told, { shades, room }),
    ),
  ];
}
