// The head that is pointed at, beside the grid: what it does in words, its sentence with arcs, its effect, its map.
import { h } from "./dom.js";
import { plain, shown } from "./format.js";
import { explained } from "./glossary.js";
import { mapOf } from "./map_texts.js";
import { headBytes, picture } from "./maps.js";
import { effectWords, furtherRoles, patchWords, patternWords, roleWords } from "./told_heads.js";
import { arcsSay, wordArcs } from "./word_arcs.js";

// `maps`: of the chosen text, or nothing. `colouring`: what the grid shows, told where the words do not.
export function headCard(study, index, { maps, colouring, open, pin, pinned }) {
  const [, , , name] = study.heads[index];
  const role = roleWords(study, index);
  const pattern = patternWords(study, index);
  const further = furtherRoles(study, index);
  const told = colouring && !colouring.effect && colouring.id !== "roles" && colouring.id !== "patterns";
  const known = colouring && colouring.values[index] !== null && colouring.id !== "present";
  const facts = [
    further ? `Also: ${further}.` : "",
    pattern ? `Its maps are mostly ${pattern}.` : "",
    effectWords(study, index) || patchWords(study, index),
    told && known ? `${colouring.title}: ${shown(colouring, index)}${colouring.unit ? ` ${colouring.unit}` : ""}.` : "",
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
      const canvas = picture(bytes, 0, map.rows, map.columns);
      canvas.className = map.rows > 180 ? "" : "pixels";
      thumb.append(canvas);
      const { queries, keys } = map.found;
      if (maps.pooled > 1) return;
      const twice = queries.length !== keys.length || queries.some((token, at) => token !== keys[at]);
      arcs.append(wordArcs(bytes, queries, keys, { twice }), h("p", { class: "quiet" }, arcsSay(twice)));
    });
  return h(
    "article",
    { class: "card", "aria-label": `Head ${name}` },
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
      map ? thumb : null,
    ),
    arcs,
  );
}

// Three or four heads that show best what heads do, as pictures to click on.
// `write`: how their numbers are written.
export function bestExamples(study, maps, open, write = plain) {
  const best = study.best.slice(0, 4);
  if (!best.length) return null;
  const cards = best.map((one) => {
    const [, , , name] = study.heads[one.head];
    const face = h("span", { class: "face-of" });
    const map = mapOf(maps, study.heads[one.head]);
    if (map)
      headBytes(map.found, map.layer, map.head).then((bytes) => {
        const canvas = picture(bytes, 0, map.rows, map.columns);
        canvas.className = map.rows > 180 ? "" : "pixels";
        face.append(canvas);
      });
    const spread = one.low === null || one.low === undefined ? "" : ` [${write(one.low, 2)}, ${write(one.high, 2)}]`;
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
          h("span", { class: "quiet" }, `${name}: ${write(one.strength, 2)}${spread}`),
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
