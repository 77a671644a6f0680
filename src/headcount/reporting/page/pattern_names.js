// Colours, names and shares of patterns as they are written.
import { colours, patternPlace } from "./colour.js";
import { h } from "./dom.js";
import { swatch } from "./legend.js";

export const colour = (kind) => colours({ kind: "category", values: [], colours: [patternPlace(kind)] }).of(0);

export const percent = (share) => (share === null ? "–" : `${Math.round(100 * share)} %`);

export const spread = (one, kind) =>
  `${percent(one.share[kind])} [${Math.round(100 * one.low[kind])}, ${Math.round(100 * one.high[kind])}]`;

export const names = (told) =>
  h(
    "ul",
    { class: "kinds" },
    told.names.map((name, kind) => h("li", {}, swatch(colour(kind)), name)),
  );
