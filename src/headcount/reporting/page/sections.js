// What stands below the first screen: every figure of a study under the question that it answers.
import { findings, gaps, provenance } from "./about.js";
import { budget } from "./budget.js";
import { isDark } from "./colour.js";
import { costs } from "./costs.js";
import { cues } from "./cues.js";
import { curves } from "./curves.js";
import { h } from "./dom.js";
import { figure } from "./download.js";
import { dynamics } from "./dynamics.js";
import { glossary } from "./glossary.js";
import { grid } from "./grid.js";
import { histogram } from "./histogram.js";
import { kinds } from "./kinds.js";
import { layers } from "./layers.js";
import { mapTexts, nameOf } from "./map_texts.js";
import { pairs } from "./pairs.js";
import { patterns } from "./patterns.js";
import { positions } from "./positions.js";
import { probe } from "./probes.js";
import { removals } from "./removal.js";
import { citation } from "./share.js";
import { thumbnails } from "./thumbnails.js";
import { effectOf } from "./told_heads.js";

const pair = (...content) => h("div", { class: "pair" }, content);

// `places`: nodes that others fill, `explore` for numbers against each other and `alike` for the map of heads.
export function sections(one, state, { open, hover, tip, version, places }) {
  const answers = {
    do: () => [
      beforeAndAfter(one, state, { open, hover }),
      pair(one.colourings.filter((each) => each.id === "roles").map(kinds), one.embedding ? places.alike : null),
      one.probes.map((told, number) => probe(told, number, open)),
      one.cues.map(cues),
      patterns(one),
      places.explore,
    ],
    without: () => [
      one.positions.map((told) => positions(one, told, open, tip)),
      one.pairs.map((told) => pairs(one, told, open, tip)),
      pair(one.layers.map(layers), effectOf(one) ? histogram(one, effectOf(one)) : null),
      places.explore,
    ],
    small: () => {
      const shown = removals(one)[state.which]?.curve;
      return [
        one.budgets.map((told) => budget(told, tip)),
        pair(
          [...one.curves]
            .reverse()
            .filter((curve) => curve !== shown)
            .map(curves),
        ),
        one.dynamics ? dynamics(one.dynamics) : null,
        one.costs.map(costs),
      ];
    },
  };
  const folded = gaps(one);
  if (folded && !one.heads.length) folded.open = true;
  return [
    one.heads.length ? null : findings(one),
    answers[state.tab](),
    folded,
    provenance(one, version),
    glossary(),
    citation(one, version),
  ]
    .flat(Infinity)
    .filter(Boolean);
}

// The maps of one text in two models, beside each other.
function beforeAndAfter(one, state, { open, hover }) {
  const texts = mapTexts(one);
  const text = texts[state.text];
  if (!text || text.maps.length < 2) return null;
  const whose = {
    id: "present",
    title: "Maps",
    unit: "",
    kind: "category",
    values: one.heads.map(() => 0),
    names: [""],
    none: 0,
  };
  const room = { width: Math.min(600, innerWidth - 40), height: 520 };
  // In the order of time, where it is known.
  const both = one.before ? text.maps.slice(0, 2).reverse() : text.maps.slice(0, 2);
  const boxes = both.map((maps) =>
    h(
      "figure",
      { class: "beside" },
      h("figcaption", {}, nameOf(one, maps)),
      grid(one, whose, {
        room,
        framed: true,
        label: `Maps of ${nameOf(one, maps)}`,
        open,
        hover,
        tabs: false,
        paint: async (cells, layout) => {
          const light = await thumbnails(maps, layout, cells, { dark: false });
          return { href: isDark() ? await thumbnails(maps, layout, cells, { dark: true }) : light, light: () => light };
        },
      }),
    ),
  );
  return figure(
    one.before ? "Before and after fine-tuning" : "The same maps in two models",
    `${text.title}: each square is a head, as in the grid above. Click one to open it; its page can show the difference.`,
    h("div", { class: "pair" }, boxes),
    { subject: `${one.model}, ${text.title}` },
  );
}
