// The patterns of one head's maps, with typical maps.
import { setLight } from "./colour.js";
import { drawing, h, s } from "./dom.js";
import { figure } from "./download.js";
import { swatch } from "./legend.js";
import { mapScale, picture } from "./maps.js";
import { colour, spread } from "./pattern_names.js";
import { layer } from "./unpack.js";

export function headPatterns(study, index) {
  const told = study.patterns;
  if (!told || told.share[index].every((share) => share === null)) return null;
  const one = { share: told.share[index], low: told.low[index], high: told.high[index] };
  const rows = told.names
    .map((name, kind) => ({ name, kind }))
    .filter(({ kind }) => one.share[kind] > 0)
    .sort((a, b) => one.share[b.kind] - one.share[a.kind]);
  const list = h(
    "ul",
    { class: "kinds" },
    rows.map(({ name, kind }) => h("li", {}, swatch(colour(kind)), `${name} in ${spread(one, kind)} of the texts`)),
  );
  const node = figure("What its maps look like", null, h("div", {}, list), {
    level: "h3",
    head: study.heads[index][3],
    rows: () =>
      told.names.map((name, kind) => ({
        pattern: name,
        share: one.share[kind],
        low: one.low[kind],
        high: one.high[kind],
      })),
  });
  if (study.typical)
    typicalMaps(study, index).then((found) => {
      if (found) node.append(found);
    });
  return h("section", {}, node);
}

// The clearest map, one in the middle and an exception, each between 32 stretches of its text.
async function typicalMaps(study, index) {
  const [stack, number, head] = study.heads[index];
  const found = study.typical.stacks.find((one) => one.stack === stack);
  if (!found?.text[number]?.[head]) return null;
  const kinds = study.typical.kinds
    .map((kind, at) => ({ kind, at, text: found.text[number][head][at], named: found.named[number][head][at] }))
    .filter((one) => one.text >= 0);
  if (!kinds.length) return null;
  const bytes = await layer(found, number);
  const [, , rows, columns] = found.shape;
  const side = 140,
    gap = 12;
  const node = drawing(
    3 * (side + gap),
    side + 34,
    "Typical maps of the head",
    kinds.map((one, column) => {
      const x = column * (side + gap);
      const at = (head * study.typical.kinds.length + one.at) * rows * columns;
      const pictured = (dark) => picture(bytes, at, rows, columns, { dark, causal: found.causal }).toDataURL();
      return [
        s("text", { x, y: 12, class: "name" }, one.kind),
        setLight(
          s(
            "image",
            { x, y: 18, width: side, height: side, preserveAspectRatio: "none", class: "pixels", href: pictured() },
            s("title", {}, study.typical.texts[one.text]),
          ),
          () => ({ href: pictured(false) }),
        ),
        s("text", { x, y: side + 31, class: "tick" }, study.patterns.names[one.named]),
      ];
    }),
  );
  const texts = h(
    "ol",
    { class: "flips" },
    kinds.map((one) =>
      h("li", {}, h("p", { class: "text" }, h("b", {}, `${one.kind}: `), study.typical.texts[one.text])),
    ),
  );
  return figure(
    "Typical maps",
    "Attention between 32 segments of a text: from those on the left to those above.",
    h("div", {}, node, mapScale(), h("details", {}, h("summary", {}, "Their texts"), texts)),
    { level: "h4", head: study.heads[index][3] },
  );
}
