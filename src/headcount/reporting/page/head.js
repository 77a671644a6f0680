// The page of one head: its name, where it looks, and everything else that is known of it.
import { h, select } from "./dom.js";
import { figure } from "./download.js";
import { plain, shown, sure } from "./format.js";
import { flips, numbers, offsets, relations } from "./head_numbers.js";
import { headPatterns } from "./head_patterns.js";
import { lookInto } from "./long_map.js";
import { headMap, lines, mapScale } from "./maps.js";
import { headPositions } from "./positions.js";

export function headPage(study, index, state, { close, step }) {
  const [stack, layer, head, name] = study.heads[index];
  const role = study.colourings.find((colouring) => colouring.id === "roles");
  const effect = study.colourings.find((colouring) => colouring.effect);
  const parts = [
    h(
      "header",
      {},
      h(
        "div",
        {},
        h("h2", { id: "head-title", tabindex: -1 }, name),
        h("p", { class: "caption" }, subtitle(study, index, role, effect)),
      ),
      h(
        "nav",
        { "aria-label": "Other heads" },
        h("button", { type: "button", class: "small", "aria-label": "Previous head", onclick: () => step(-1) }, "‹"),
        h("button", { type: "button", class: "small", "aria-label": "Next head", onclick: () => step(1) }, "›"),
        h("button", { type: "button", class: "small close", "aria-label": "Close", onclick: close }, "✕"),
      ),
    ),
  ];
  const rest = () =>
    [
      headPatterns(study, index),
      ...study.positions.map((told) => headPositions(told, index)),
      ...flips(study, index),
      relations(study, index),
      offsets(study, index),
      numbers(study, index),
    ].filter(Boolean);
  if (!study.maps.length) return h("div", { class: "head-page" }, parts, rest());
  // The map is what people open a head for: all else is drawn when it has been painted.
  const painted = attention(study, stack, layer, head, state);
  const node = h("div", { class: "head-page" }, parts, painted.node);
  painted.painted.then(() => node.append(...rest()));
  return node;
}

function subtitle(study, index, role, effect) {
  const said = [];
  const pattern = study.colourings.find((colouring) => colouring.id === "patterns");
  if (pattern && pattern.values[index] !== null) said.push(`Its maps: ${pattern.names[pattern.values[index]]}.`);
  const does = role && role.values[index] !== null ? role.names[role.values[index]] : null;
  if (does && !(pattern && does === "no clear role")) said.push(`Mostly: ${does}.`);
  if (effect && effect.values[index] !== null) {
    const certain = sure(effect, index) ? "significant" : `not significant (q = ${plain(effect.q[index], 2)})`;
    said.push(`Without it ${effect.unit} changes by ${shown(effect, index)}, ${certain}.`);
  }
  const patch = study.colourings.find((colouring) => colouring.patched);
  if (patch && patch.values[index] !== null) {
    const certain = sure(patch, index) ? "significant" : `not significant (q = ${plain(patch.q[index], 2)})`;
    const { ran, given } = patch.patched;
    const what = patch.id.endsWith(":share") ? "the share is" : `${patch.unit} changes by`;
    said.push(`On the ${ran} input with it from the ${given} one ${what} ${shown(patch, index)}, ${certain}.`);
  }
  for (const told of study.probes) {
    const best = told.rows.filter((row) => row.head === index).map((row) => row.relation);
    if (best.length) said.push(`Best head for ${best.join(", ")} (${told.name}).`);
  }
  return said.join(" ");
}

function attention(study, stack, layer, head, state) {
  const container = h("div", { class: "map" });
  const told = h("p", { class: "caption told", "aria-live": "polite" });
  let turn = 0;
  const draw = async (shown = () => {}) => {
    const mine = ++turn;
    const maps = study.maps[state.map ?? 0] ?? study.maps[0];
    const found = maps.stacks.find((one) => one.stack === stack);
    if (!found || layer >= found.shape[0] || head >= found.shape[1]) {
      container.replaceChildren(h("p", {}, "This text has no map of this head."));
      shown();
      return;
    }
    const coarse = maps.levels < 256 ? ` Kept in ${maps.levels} shades, so that the page stays small.` : "";
    const look = maps.pooled > 1 ? lookInto(found, maps.pooled, layer, head) : null;
    const map = await headMap(found, layer, head, told, look ?? undefined);
    const into = look ? " Click a place of the map to look into it; blocks that are stored exactly are outlined." : "";
    if (mine !== turn) return; // another text was chosen meanwhile
    container.replaceChildren(
      figure(
        "As a map",
        `A row shows where a token attends; stronger colours mean more attention, by the square root of the weight.${coarse}${into}`,
        h("div", {}, map, mapScale()),
        {
          level: "h4",
        },
      ),
      told,
      ...(look ? [look.node] : []),
    );
    // The lines come after the map has been painted, which is sure in the second frame: on long texts they are many.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))));
    shown();
    const beams = await lines(found, layer, head);
    if (mine === turn)
      container.append(
        figure("As lines between words", "Point at a word on the left to see its own lines.", beams, { level: "h4" }),
      );
  };
  const first = new Promise((done) => draw(done));
  const chooser =
    study.maps.length > 1
      ? select(
          "Text",
          study.maps.map((maps, number) => ({ value: String(number), title: mapTitle(study, maps) })),
          String(state.map ?? 0),
          (value) => {
            state.map = Number(value);
            draw();
          },
        )
      : h("p", { class: "caption" }, mapTitle(study, study.maps[0]));
  return { node: h("section", {}, h("h3", {}, "Where it looks"), chooser, container), painted: first };
}

export function mapTitle(study, maps) {
  const models = new Set(study.maps.map((one) => one.model));
  const text = [maps.text, maps.pair].filter(Boolean).join(" | ");
  const model = models.size > 1 ? `${maps.model.split("/").filter(Boolean).at(-1)}: ` : "";
  return model + (text.length > 90 ? `${text.slice(0, 89)}…` : text);
}
