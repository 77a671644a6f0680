// Where a head looks in one text: its map, the same before fine-tuning or as a difference, and the sentence twice.
import { beams } from "./beams.js";
import { h } from "./dom.js";
import { figure } from "./download.js";
import { lookInto } from "./long_map.js";
import { mapOf, nameOf, shortModel } from "./map_texts.js";
import { headBytes, tokenMap } from "./maps.js";
import { CHANGES, difference, WEIGHTS } from "./shades.js";

// `one`: a text of mapTexts. `version`: 0 the model, 1 another one, "change" the difference. `room`: the map's side.
// Gives the figure of the map, its look into long texts, and `lines()`, which draws the sentence twice.
export async function headMap(study, head, one, version, { told, room }) {
  const maps = one.maps[version === "change" ? 0 : version] ?? one.maps[0];
  const place = mapOf(maps, head);
  if (!place) return { first: h("p", {}, "This text has no map of this head."), lines: () => null };
  const { found, layer, rows, columns } = place;
  const bytes = await headBytes(found, layer, place.head);
  const before = version === "change" ? mapOf(one.maps[1], head) : null;
  const comparable = before && before.rows === rows && before.columns === columns;
  const shades = comparable ? CHANGES : WEIGHTS;
  const drawn = comparable ? difference(bytes, await headBytes(before.found, before.layer, before.head)) : bytes;
  const look = maps.pooled > 1 && !comparable ? lookInto(found, maps.pooled, layer, place.head) : null;
  const into = look ? " Click a place of the map to look into it; blocks that are stored exactly are outlined." : "";
  const coarse = maps.levels < 256 ? ` Kept in ${maps.levels} shades, so that the page stays small.` : "";
  const which = comparable ? `from ${shortModel(one.maps[1])} to ${shortModel(maps)}` : "";
  const subject = [study.model, head[3], one.title, which].filter(Boolean).join(", ");
  const map = tokenMap(drawn, found.queries, found.keys, told, {
    shades,
    room,
    causal: Boolean(found.causal),
    ...(look ?? {}),
  });
  const first = figure("As a map", `A row shows where a token attends. ${shades.says}${coarse}${into}`, map, {
    level: "h4",
    subject,
  });
  const caption = "Point at a word on the left to see its own lines, click to keep them.";
  const lines = () =>
    comparable
      ? null
      : figure("As lines between words", caption, beams(bytes, found.queries, found.keys), { level: "h4", subject });
  return { first, look, lines };
}

// A switch between the maps of the model, of another one and their difference.
export function versions(study, one, chosen, choose) {
  if (one.maps.length < 2) return null;
  const models = [
    [0, nameOf(study, one.maps[0])],
    [1, nameOf(study, one.maps[1])],
  ];
  // In the order of time, where it is known.
  const options = [...(study.before ? models.reverse() : models), ["change", "difference"]];
  return h(
    "div",
    { class: "switch", role: "group", "aria-label": "Maps of" },
    options.map(([value, title]) =>
      h(
        "button",
        { type: "button", class: "small", "aria-pressed": String(value === chosen), onclick: () => choose(value) },
        title,
      ),
    ),
  );
}
