// The head that is pointed at, beside the grid: what it does in words, its sentence with arcs, its effect, its map.
import { h } from "./dom.js";
import { plain, shown } from "./format.js";
import { explained } from "./glossary.js";
import { mapOf } from "./map_texts.js";
import { headBytes, picture, smallMap } from "./maps.js";
import { WEIGHTS } from "./shades.js";
import { effectWords, patchWords, patternWords, roleWords, sharedWords, strengthWords } from "./told_heads.js";
import { arcsNote, wordArcs } from "./word_arcs.js";

// `maps`: of the chosen text, or nothing. `colouring`: what the grid shows, told where the words do not.
// `brief`: without the sentence, where there is less room.
export function headCard(study, index, { maps, colouring, open, pin, pinned, brief = false }) {
  const [, , , name] = study.heads[index];
  const role = roleWords(study, index);
  const pattern = patternWords(study, index);
  const told = colouring && !colouring.effect && colouring.id !== "roles" && colouring.id !== "patterns";
  const known = colouring && colouring.values[index] !== null && colouring.id !== "present";
  const facts = [
    strengthWords(study, index),
    pattern ? `Its maps are mostly ${pattern}.` : "",
    effectWords(study, index) || patchWords(study, index),
    told && known ? `${colouring.title}: ${shown(colouring, index)}${colouring.unit ? ` ${colouring.unit}` : ""}.` : "",
    sharedWords(study, index),
  ].filter(Boolean);
  const arcs = h("div", { class: "card-arcs" });
  const thumb = h("button", {
    type: "button",
    class: "thumb",
    "aria-label": `Open ${name}`,
    onclick: () => open(index),
  });
  const map = mapOf(maps, study.heads[index]);
  if (map)
    headBytes(map.found, map.layer, map.head).then((bytes) => {
      thumb.append(smallMap(bytes, map));
      const { queries, keys } = map.found;
      if (maps.pooled > 1 || brief) return;
      const twice = queries.length !== keys.length || queries.some((token, at) => token !== keys[at]);
      const line = wordArcs(bytes, queries, keys, { twice });
      arcs.append(line, arcsNote(line, Math.max(queries.length, keys.length), twice));
    });
  return h(
    "article",
    { class: `card${brief ? " brief" : ""}`, "aria-label": `Head ${name}` },
    h(
      "div",
      { class: "card-top" },
      h(
        "div",
        { class: "card-words" },
        h("div", { class: "head-name" }, h("h2", {}, name), role ? h("p", { class: "role" }, role) : null),
        facts.map((fact) => h("p", {}, explained(fact))),
        h(
          "div",
          { class: "tools" },
          h("button", { type: "button", class: "small strong", onclick: () => open(index) }, "Open"),
          h(
            "button",
            { type: "button", class: "small", onclick: () => pin(index) },
            pinned ? "Unpin" : "Pin to compare",
          ),
        ),
      ),
      map ? h("div", { class: "thumb-of" }, thumb, smallScale()) : null,
    ),
    arcs,
  );
}

// Which colour is which weight, as small as the map above it.
function smallScale() {
  const ramp = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const canvas = picture(ramp, 0, 1, 256);
  return h(
    "p",
    { class: "quiet small-scale", title: `Weights of attention. ${WEIGHTS.says}` },
    "0",
    canvas,
    "1",
    h("span", { class: "unseen-words" }, "weight, by its square root"),
  );
}

const strengthOf = ({ strength, low, high }) =>
  plain(strength, 2) + (low === null || low === undefined ? "" : ` [${plain(low, 2)}, ${plain(high, 2)}]`);

// Three or four heads that show best what heads do, as pictures to click on.
export function bestExamples(study, maps, open) {
  const best = study.best.slice(0, 4);
  if (!best.length) return null;
  const cards = best.map((one) => {
    const [, , , name] = study.heads[one.head];
    const face = h("span", { class: "face-of" });
    const map = mapOf(maps, study.heads[one.head]);
    if (map)
      headBytes(map.found, map.layer, map.head).then((bytes) => {
        face.append(smallMap(bytes, map));
      });
    const said = one.said ?? strengthOf(one);
    const at = said.indexOf(" [");
    const [value, spread] = at < 0 ? [said, ""] : [said.slice(0, at), said.slice(at)];
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "example", onclick: () => open(one.head) },
        map ? face : null,
        h(
          "span",
          {},
          h("b", {}, one.title),
          h("span", { class: "quiet" }, `${name}: ${value} `, h("span", { class: "spread" }, spread)),
        ),
      ),
    );
  });
  return h(
    "section",
    { class: "best" },
    h("h2", { class: "small-title" }, "Heads to look at first"),
    h("ul", {}, cards),
  );
}
