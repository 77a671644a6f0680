// One head among all heads: a row for each of some key numbers, a dot for each head, the head itself marked.
import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { namedChoices } from "./choices.js";
import { drawing, h, s } from "./dom.js";
import { figure } from "./download.js";
import { rank, shorten, shown, writer } from "./format.js";
import { wide } from "./scales.js";

const ROWS = 6,
  WIDTH = 640,
  NARROW = 380,
  LEFT = 20;

// `narrow`: in a column, or on a phone, where a title has a line of its own.
export function headStrip(study, index, { narrow = innerWidth < 700 } = {}) {
  const width = narrow ? NARROW : WIDTH;
  const tall = narrow ? 62 : 46;
  const known = (colouring) => colouring.kind !== "category" && colouring.values[index] !== null;
  const named = namedChoices(study).filter(known);
  const rows = [
    ...named,
    ...study.colourings.filter((colouring) => known(colouring) && !named.includes(colouring)),
  ].slice(0, ROWS);
  if (!rows.length || study.heads.length < 2) return null;
  const node = drawing(
    width,
    rows.length * tall + 6,
    `${study.heads[index][3]} among all heads`,
    rows.map((colouring, row) => {
      const y = row * tall + tall - 14;
      const values = colouring.values.filter((value) => value !== null);
      const x = scaleLinear(wide(extent(values)), [LEFT, width - 20]);
      const value = colouring.values[index];
      return s(
        "g",
        {},
        s(
          "text",
          { x: LEFT, y: y - (narrow ? 32 : 16), class: "name" },
          shorten(colouring.title, narrow ? 50 : 42),
          s("title", {}, colouring.title),
        ),
        s(
          "text",
          narrow
            ? { x: LEFT, y: y - 16, class: "tick" }
            : { x: width - 20, y: y - 16, "text-anchor": "end", class: "tick" },
          `${shown(colouring, index)}, rank ${rank(colouring, index)} of ${values.length}`,
        ),
        s("line", { x1: LEFT, x2: width - 20, y1: y, y2: y, class: "zero" }),
        values.map((one) => s("line", { x1: x(one), x2: x(one), y1: y - 5, y2: y + 5, class: "other-head" })),
        colouring.low?.[index] !== null && colouring.low
          ? s("line", {
              x1: x(Math.max(colouring.low[index], x.domain()[0])),
              x2: x(Math.min(colouring.high[index], x.domain()[1])),
              y1: y,
              y2: y,
              class: "whisker wide-whisker",
            })
          : null,
        s("circle", { cx: x(value), cy: y, r: 6, class: "this-head" }, s("title", {}, writer(colouring)(value))),
      );
    }),
  );
  return h(
    "section",
    {},
    figure("Among all heads", "A stroke for each head, the dot is this one with its 95 % interval.", node, {
      level: "h3",
      head: study.heads[index][3],
      rows: () =>
        rows.map((colouring) => ({
          number: colouring.title,
          value: colouring.values[index],
          rank: rank(colouring, index),
          unit: colouring.unit,
        })),
    }),
  );
}
