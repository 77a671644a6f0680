// The page of one head: its numbers and ranks, where it looks, what it ties together, and what changes without it.
import { max } from "d3-array";
import { scaleBand, scaleLinear } from "d3-scale";
import { plot } from "./axes.js";
import { drawing, h, s, select } from "./dom.js";
import { figure } from "./download.js";
import { plain, rank, shown, sure } from "./format.js";
import { headMap, lines } from "./maps.js";
import { headPatterns } from "./patterns.js";

export function headPage(study, place, state, { close, step }) {
  const [stack, layer, head, name] = study.heads[place];
  const role = study.metrics.find((metric) => metric.id === "roles");
  const effect = study.metrics.find((metric) => metric.effect);
  const parts = [
    h("header", {},
      h("div", {}, h("h2", { id: "head-title", tabindex: -1 }, name), h("p", { class: "caption" }, subtitle(study, place, role, effect))),
      h("nav", { "aria-label": "Other heads" },
        h("button", { type: "button", class: "small", "aria-label": "Previous head", onclick: () => step(-1) }, "‹"),
        h("button", { type: "button", class: "small", "aria-label": "Next head", onclick: () => step(1) }, "›"),
        h("button", { type: "button", class: "small close", "aria-label": "Close", onclick: close }, "✕"))),
  ];
  const rest = () => [headPatterns(study, place), flips(study, place), relations(study, place), offsets(study, place), numbers(study, place)].filter(Boolean);
  if (!study.maps.length) return h("div", { class: "head-page" }, parts, rest());
  // The map is what people open a head for: all else is drawn when it has been painted.
  const painted = attention(study, stack, layer, head, state);
  const node = h("div", { class: "head-page" }, parts, painted.node);
  painted.then(() => node.append(...rest()));
  return node;
}

function subtitle(study, place, role, effect) {
  const said = [];
  const pattern = study.metrics.find((metric) => metric.id === "patterns");
  if (pattern && pattern.values[place] !== null) said.push(`Its maps: ${pattern.names[pattern.values[place]]}.`);
  const does = role && role.values[place] !== null ? role.names[role.values[place]] : null;
  if (does && !(pattern && does === "mixed")) said.push(`Mostly: ${does}.`);
  if (effect && effect.values[place] !== null) {
    const certain = sure(effect, place) ? "significant" : `not significant (q = ${plain(effect.q[place], 2)})`;
    said.push(`Without it ${effect.unit} changes by ${shown(effect, place)}, ${certain}.`);
  }
  return said.join(" ");
}

function attention(study, stack, layer, head, state) {
  const place = h("div", { class: "map" });
  const told = h("p", { class: "caption told", "aria-live": "polite" });
  let turn = 0;
  const draw = async (shown = () => {}) => {
    const mine = ++turn;
    const maps = study.maps[state.map ?? 0] ?? study.maps[0];
    const found = maps.stacks.find((one) => one.stack === stack);
    if (!found || layer >= found.shape[0] || head >= found.shape[1]) {
      place.replaceChildren(h("p", {}, "This text has no map of this head."));
      shown();
      return;
    }
    const coarse = maps.levels < 256 ? ` Kept in ${maps.levels} shades, so that the page stays small.` : "";
    const map = await headMap(found, layer, head, told);
    if (mine !== turn) return; // another text was chosen meanwhile
    place.replaceChildren(figure("As a map", `A row is where a token looks; strong colours are much.${coarse}`, map, { level: "h4" }), told);
    // The lines come after the map has been painted, which is sure in the second frame: on long texts they are many.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))));
    shown();
    const beams = await lines(found, layer, head);
    if (mine === turn) place.append(figure("As lines between words", "Point at a word on the left to see its own lines.", beams, { level: "h4" }));
  };
  const first = new Promise((done) => draw(done));
  const chooser = study.maps.length > 1
    ? select("Text", study.maps.map((maps, number) => ({ value: String(number), title: mapTitle(study, maps) })), String(state.map ?? 0), (value) => { state.map = Number(value); draw(); })
    : h("p", { class: "caption" }, mapTitle(study, study.maps[0]));
  return { node: h("section", {}, h("h3", {}, "Where it looks"), chooser, place), then: (work) => first.then(work) };
}

export function mapTitle(study, maps) {
  const models = new Set(study.maps.map((one) => one.model));
  const text = [maps.text, maps.pair].filter(Boolean).join(" | ");
  const model = models.size > 1 ? `${maps.model.split("/").filter(Boolean).at(-1)}: ` : "";
  return model + (text.length > 90 ? `${text.slice(0, 89)}…` : text);
}

function flips(study, place) {
  const parts = study.flips.map((one) => {
    const found = one.heads[place];
    if (!found) return h("p", {}, `Without it the model answers all ${one.examples} examples as before.`);
    const list = h("ol", { class: "flips" }, found.shown.map(([number, now]) => {
      const { text, label, whole } = one.texts[number];
      const verdict = one.classes ? (label === null ? "changed" : whole === label ? "now wrong" : now === label ? "now right" : "wrong before and after") : "changed";
      return h("li", {}, text.map((part) => h("p", { class: "text" }, part)),
        h("p", { class: `verdict ${verdict.replaceAll(" ", "-")}` }, `${whole} → ${now}`, label === null ? "" : ` (label: ${label}) `, h("b", {}, verdict)));
    }));
    const more = found.count > found.shown.length ? ` The first ${found.shown.length}:` : "";
    return [h("p", {}, `${found.count} of ${one.examples} examples are answered otherwise without it.${more}`), list];
  });
  return study.flips.length ? h("section", {}, h("h3", {}, "What changes without it"), parts) : null;
}

function relations(study, place) {
  const rows = study.relations.filter((one) => one.attention[place] !== null);
  if (!rows.length) return null;
  const top = max(rows, (one) => Math.max(one.attention[place], one.control[place] ?? 0)) || 1;
  const x = scaleLinear([0, top], [0, 200]);
  const node = drawing(440, rows.length * 30 + 6, "Relations between words", rows.map((one, row) => [
    s("text", { x: 146, y: row * 30 + 18, "text-anchor": "end", class: "name" }, one.name),
    s("rect", { x: 152, y: row * 30 + 6, width: Math.max(1, x(one.attention[place])), height: 8, class: "bar-fill" }),
    s("rect", { x: 152, y: row * 30 + 16, width: Math.max(1, x(one.control[place] ?? 0)), height: 5, class: "bar-control" }),
    s("text", { x: 160 + x(Math.max(one.attention[place], one.control[place] ?? 0)), y: row * 30 + 17, class: "tick" }, `${plain(one.attention[place], 2)} (${plain(one.control[place], 2)})${one.gain_low[place] > 0 ? " ●" : ""}`)]));
  return h("section", {}, figure("Relations it follows", "Attention along each relation (thick) and at the same offset elsewhere (thin, in brackets); ● more, by its 95 % interval.", node, { level: "h3", rows: () => rows.map((one) => ({ relation: one.name, attention: one.attention[place], control: one.control[place] })) }));
}

function offsets(study, place) {
  const values = study.offsets?.values[place];
  if (!values || values.every((value) => value === null)) return null;
  const x = scaleBand(study.offsets.offsets.map(String), [0, 1]).padding(0.15);
  const y = scaleLinear([0, max(values)], [0, 1]).nice();
  const { node, inside } = plot(440, 170, "Attention by offset", x, y, ["tokens away", "attention"], { yTicks: 3 });
  values.forEach((value, number) => { if (value !== null) inside.append(s("rect", { x: x(String(study.offsets.offsets[number])), width: x.bandwidth(), y: y(value), height: y(0) - y(value), class: "bar-fill" })); });
  return h("section", {}, figure("How far away it looks", "Mean attention to the token so many places before (−) or after (+).", node, { level: "h3", rows: () => values.map((value, number) => ({ offset: study.offsets.offsets[number], attention: value })) }));
}

function numbers(study, place) {
  const heads = study.heads.length;
  const known = study.metrics.filter((metric) => metric.values[place] !== null);
  const rows = () => known.map((metric) => ({ number: metric.title, value: metric.kind === "category" ? metric.names[metric.values[place]] : metric.values[place], low: metric.low?.[place] ?? null, high: metric.high?.[place] ?? null, unit: metric.unit, rank: rank(metric, place) }));
  const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "number"), h("th", { class: "right" }, "value [95 %]"), h("th", { class: "right" }, "rank"))),
    h("tbody", {}, known.map((metric) => h("tr", {}, h("td", {}, metric.title, metric.unit ? h("span", { class: "unit" }, ` ${metric.unit}`) : null), h("td", { class: "right" }, shown(metric, place), sure(metric, place) ? " ●" : ""), h("td", { class: "right" }, rank(metric, place) ? `${rank(metric, place)} of ${heads}` : "")))));
  return h("section", {}, figure("All its numbers", "Rank 1 is the largest value of all heads; ● significant (corrected for all heads).", h("div", { class: "scroll" }, table), { level: "h3", rows }));
}
