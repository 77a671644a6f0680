// What maps look like: shares of patterns by stack, layer and study, how good their names are, and a head's typical maps.
import { scaleLinear } from "d3-scale";
import { colours, inkOn } from "./colour.js";
import { drawing, h, s } from "./dom.js";
import { figure } from "./download.js";
import { shortenMiddle } from "./format.js";
import { swatch } from "./legend.js";
import { layer, picture } from "./maps.js";

const colour = (kind) => colours({ kind: "category", values: [] }).of(kind);
const percent = (share) => (share === null ? "–" : `${Math.round(100 * share)} %`);
const spread = (one, kind) => `${percent(one.share[kind])} [${Math.round(100 * one.low[kind])}, ${Math.round(100 * one.high[kind])}]`;
const names = (told) => h("ul", { class: "kinds" }, told.names.map((name, kind) => h("li", {}, swatch(colour(kind)), name)));

export function patterns(study) {
  const told = study.patterns;
  if (!told?.stacks.length) return null;
  return h("div", { class: "pair" }, told.stacks.map((stack) => [shares(told, stack), byLayer(told, stack)]), told.f1 ? [confusion(told), reliability(told)] : null);
}

const whose = (told, stack) => (told.stacks.length > 1 ? `: ${stack.stack}` : "");

function shares(told, stack) {
  const left = 136, top = 4, step = 30, width = 520;
  const most = Math.max(...stack.high, ...(told.published?.share ?? [0]), 0.01);
  const x = scaleLinear([0, most], [left, width - 126]);
  const node = drawing(width, top + told.names.length * step + 4, "Shares of patterns", told.names.map((name, kind) => {
    const y = top + kind * step;
    return [
      s("text", { x: left - 8, y: y + 17, "text-anchor": "end", class: "name" }, name),
      s("rect", { x: left, y: y + 3, width: Math.max(1, x(stack.share[kind]) - left), height: step - 10, fill: colour(kind) }),
      s("line", { x1: x(stack.low[kind]), x2: x(stack.high[kind]), y1: y + step / 2 - 2, y2: y + step / 2 - 2, class: "whisker" }),
      told.published ? s("line", { x1: x(told.published.share[kind]), x2: x(told.published.share[kind]), y1: y, y2: y + step - 4, class: "baseline" }) : null,
      s("text", { x: x(Math.max(stack.high[kind], told.published?.share[kind] ?? 0)) + 8, y: y + 17, class: "name" }, spread(stack, kind)),
    ];
  }));
  const paper = told.published ? ` Dashed: ${told.published.source}.` : "";
  return figure(`What the maps look like${whose(told, stack)}`, `The share of all maps, over all heads and texts, with a 95 % interval that includes the mistakes of the rule that names them, as they were on families of models that it had not seen.${paper}`, node,
    { rows: () => told.names.map((name, kind) => ({ pattern: name, share: stack.share[kind], low: stack.low[kind], high: stack.high[kind], published: told.published?.share[kind] ?? null })) });
}

// Bars of one length, cut into the shares of the patterns.
function stacked(label, rows, told, wide = 60) {
  const step = 22, width = 520, left = wide;
  const x = scaleLinear([0, 1], [left, width - 6]);
  return drawing(width, rows.length * step + 4, label, rows.map((row, number) => {
    let from = 0;
    return [
      s("text", { x: left - 8, y: number * step + 15, "text-anchor": "end", class: "name" }, row.name),
      row.share.map((share, kind) => {
        const start = from;
        from += share;
        const room = x(from) - x(start);
        return share > 0 ? [
          s("rect", { x: x(start), y: number * step + 1, width: Math.max(0.5, room - 0.5), height: step - 3, fill: colour(kind) }, s("title", {}, `${row.whole ?? row.name}: ${told.names[kind]} ${percent(share)}`)),
          room > 26 ? s("text", { x: x(start) + room / 2, y: number * step + 15, "text-anchor": "middle", class: inkOn(colour(kind)) === "#fff" ? "inside bright" : "inside" }, Math.round(100 * share)) : null,
        ] : null;
      }),
    ];
  }));
}

function byLayer(told, stack) {
  const rows = stack.layers.map((share, number) => ({ name: `L${number}`, share })).filter((row) => row.share);
  return figure(`Patterns by layer${whose(told, stack)}`, "The share of each layer's maps, in percent.", h("div", {}, stacked("Patterns by layer", rows, told), names(told)),
    { rows: () => rows.map((row) => ({ layer: row.name, ...Object.fromEntries(told.names.map((name, kind) => [name, row.share[kind]])) })) });
}

// Several studies, as in the paper: a bar for each.
export function patternsBeside(studies) {
  const known = studies.filter((study) => study.patterns?.stacks.length);
  if (known.length < 2) return null;
  const told = known[0].patterns;
  const rows = known.flatMap((study) => study.patterns.stacks.flatMap((stack, number) => {
    const mark = study.patterns.stacks.length > 1 ? `${study.name} ${stack.stack}` : study.name;
    const paper = number ? null : study.patterns.published;
    return [{ name: shortenMiddle(mark, 19), whole: mark, share: stack.share }, paper ? { name: "(the paper's BERT)", whole: `${mark}, ${paper.source}`, share: paper.share } : null].filter(Boolean);
  }));
  return figure("Patterns of the studies", "The share of all maps of each study, in percent (Kovaleva et al. 2019, Figure 2).", h("div", {}, stacked("Patterns of the studies", rows, told, 160), names(told)),
    { rows: () => rows.map((row) => ({ study: row.whole, ...Object.fromEntries(told.names.map((name, kind) => [name, row.share[kind]])) })) });
}

function confusion(told) {
  const rule = told.rule;
  const head = h("tr", {}, h("th", {}, "labelled"), told.names.map((name) => h("th", { class: "right" }, name.replace("+", "+\u200b"))), h("th", { class: "right" }, "F1"));
  const body = told.confusion.map((row, kind) =>
    h("tr", {}, h("td", {}, told.names[kind]), row.map((count, named) => h("td", { class: `right${named === kind ? " hit" : ""}` }, count)), h("td", { class: "right" }, told.f1[told.names[kind]].toFixed(2))));
  const said = `Labelled maps (rows) and the names that rules fitted to other families of models gave them (columns): macro F1 ${rule.f1.toFixed(2)} [${rule.f1_low.toFixed(2)}, ${rule.f1_high.toFixed(2)}], accuracy ${percent(rule.accuracy)}. On other heads of the same models F1 is ${rule.f1_same_models.toFixed(2)} (the paper's: 0.86); on the ${percent(rule.agreement)} of the ${rule.maps} maps on which two labellings agree, ${rule.f1_agreed.toFixed(2)}.`;
  return figure("How good the names are", said, h("div", { class: "scroll" }, h("table", { class: "confusion" }, h("thead", {}, head), h("tbody", {}, body))),
    { rows: () => told.confusion.map((row, kind) => ({ label: told.names[kind], ...Object.fromEntries(told.names.map((name, named) => [name, row[named]])) })) });
}

function reliability(told) {
  const head = h("tr", {}, ["the rule is sure", "maps", "mean", "right"].map((name, place) => h("th", { class: place ? "right" : "" }, name)));
  const body = told.reliability.map((row) => h("tr", {}, h("td", {}, `${percent(row.from)} to ${percent(row.to)}`), h("td", { class: "right" }, row.maps), h("td", { class: "right" }, percent(row.sure)), h("td", { class: "right" }, percent(row.right))));
  return figure("How far to trust a name", "The same maps by how sure the rule is of their names: a calibrated rule is right as often as it is sure.", h("div", { class: "scroll" }, h("table", { class: "confusion" }, h("thead", {}, head), h("tbody", {}, body))),
    { rows: () => told.reliability });
}

export function headPatterns(study, place) {
  const told = study.patterns;
  if (!told || told.share[place].every((share) => share === null)) return null;
  const one = { share: told.share[place], low: told.low[place], high: told.high[place] };
  const rows = told.names.map((name, kind) => ({ name, kind })).filter(({ kind }) => one.share[kind] > 0).sort((a, b) => one.share[b.kind] - one.share[a.kind]);
  const list = h("ul", { class: "kinds" }, rows.map(({ name, kind }) => h("li", {}, swatch(colour(kind)), `${name} in ${spread(one, kind)} of the texts`)));
  const node = figure("What its maps look like", null, h("div", {}, list), { level: "h3", rows: () => told.names.map((name, kind) => ({ pattern: name, share: one.share[kind], low: one.low[kind], high: one.high[kind] })) });
  if (study.typical) typicalMaps(study, place).then((found) => { if (found) node.append(found); });
  return h("section", {}, node);
}

// The clearest map, one in the middle and an exception, each between 32 stretches of its text.
async function typicalMaps(study, place) {
  const [stack, number, head] = study.heads[place];
  const found = study.typical.stacks.find((one) => one.stack === stack);
  if (!found?.text[number]?.[head]) return null;
  const kinds = study.typical.kinds.map((kind, at) => ({ kind, at, text: found.text[number][head][at], named: found.named[number][head][at] })).filter((one) => one.text >= 0);
  if (!kinds.length) return null;
  const bytes = await layer(found, number);
  const [, , rows, columns] = found.shape;
  const side = 140, gap = 12;
  const node = drawing(3 * (side + gap), side + 34, "Typical maps of the head", kinds.map((one, column) => {
    const x = column * (side + gap);
    const image = picture(bytes, (head * study.typical.kinds.length + one.at) * rows * columns, rows, columns).toDataURL();
    return [
      s("text", { x, y: 12, class: "name" }, one.kind),
      s("image", { x, y: 18, width: side, height: side, preserveAspectRatio: "none", class: "pixels", href: image }, s("title", {}, study.typical.texts[one.text])),
      s("text", { x, y: side + 31, class: "tick" }, study.patterns.names[one.named]),
    ];
  }));
  const texts = h("ol", { class: "flips" }, kinds.map((one) => h("li", {}, h("p", { class: "text" }, h("b", {}, `${one.kind}: `), study.typical.texts[one.text]))));
  return figure("Typical maps", "Between 32 stretches of a text: from those on the left side to those above.", h("div", {}, node, h("details", {}, h("summary", {}, "Their texts"), texts)), { level: "h4" });
}
