// Heads that are patched at one position at a time: which matter where, over all pairs of inputs or for one of them.
import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { colours, inkOn } from "./colour.js";
import { drawing, h, s, select } from "./dom.js";
import { figure } from "./download.js";
import { marked } from "./flips.js";
import { LEVEL, plain, shorten, shown, sure } from "./format.js";
import { legend } from "./legend.js";
import { atPositions, ofExample, strongest } from "./position_rows.js";
import { placeTip } from "./tip.js";

const FEW = 20;

const NAME = 14;

const spelled = (position) => (/^\d+$/.test(position) ? `token ${position}` : position);

export function positions(study, told, open, tip) {
  const state = { example: "", all: told.heads.length <= FEW };
  const name = (row) => study.heads[told.heads[row]][3];
  const content = h("div", {});
  const change = (what) => {
    Object.assign(state, what);
    tip.hidden = true;
    draw();
  };

  function draw() {
    const example = told.examples[state.example];
    const seen = example ? ofExample(told, example) : told;
    const rows = state.all ? told.heads.map((_, row) => row) : strongest(seen.values, FEW, seen.centre);
    const tested = "heads and positions";
    const colouring = { ...seen, kind: "diverging", values: seen.values.flat(), q: seen.q?.flat(), tested };
    content.replaceChildren(
      ...[
        controls(),
        example ? texts(example) : null,
        h(
          "div",
          { class: "with-legend" },
          h("div", { class: state.all && rows.length > FEW ? "scroll tall" : "scroll" }, map(seen, colouring, rows)),
          legend(colouring),
        ),
      ].filter(Boolean),
    );
  }

  function controls() {
    const examples = told.examples.map(({ clean }, at) => ({ value: String(at), title: shorten(clean.text, 60) }));
    const heads = [
      { value: "", title: `the ${FEW} with the largest effects` },
      { value: "all", title: `all ${told.heads.length}` },
    ];
    return h(
      "div",
      { class: "controls" },
      examples.length
        ? select("Pairs of inputs", [{ value: "", title: "all" }, ...examples], state.example, (example) =>
            change({ example }),
          )
        : null,
      told.heads.length > FEW
        ? select("Heads", heads, state.all ? "all" : "", (value) => change({ all: value === "all" }))
        : null,
    );
  }

  function map(seen, colouring, rows) {
    const scale = colours(colouring);
    const height = rows.length > 60 ? 12 : 19;
    const left = 12 + 7 * Math.max(...rows.map((row) => name(row).length));
    const width = Math.max(13, Math.min(64, Math.floor(560 / told.positions.length)));
    const names = told.positions.map((position) => shorten(position, NAME));
    // Names that are wider than their columns are written upwards.
    const upright = names.some((each) => 6.5 * each.length > width - 2);
    const top = upright ? 10 + 6.5 * Math.max(...names.map((each) => each.length)) : 18;
    const heading = names.map((each, at) => {
      const x = left + (at + 0.5) * width;
      const turned = upright
        ? { x: x + 4, y: top - 5, transform: `rotate(-90 ${x + 4} ${top - 5})` }
        : { x, y: top - 5, "text-anchor": "middle" };
      return s("text", { ...turned, class: "tick" }, each);
    });
    const lines = rows.map((row, at) => {
      const line = atPositions(seen, row);
      const y = top + at * height;
      return [
        s(
          "text",
          {
            x: left - 6,
            y: y + height / 2 + 4,
            "text-anchor": "end",
            class: "tick row-name",
            onclick: () => open(told.heads[row]),
          },
          name(row),
        ),
        line.values.map((_, place) => cell(line, place, row, scale, [left + place * width, y, width, height])),
      ];
    });
    const node = drawing(
      left + told.positions.length * width + 8,
      top + rows.length * height + 4,
      `${rows.length} heads at ${told.positions.length} positions: ${seen.title}`,
      heading,
      lines,
    );
    node.classList.add("position-map");
    return node;
  }

  function cell(line, place, row, scale, [x, y, width, height]) {
    const known = line.values[place] !== null;
    const colour = known ? scale.of(line.values[place]) : null;
    const said = `${name(row)} at ${spelled(told.positions[place])}`;
    const certain = sure(line, place);
    return s(
      "g",
      {
        class: "cell",
        role: "img",
        "aria-label": `${said}: ${shown(line, place)}${certain ? ", significant" : ""}`,
        onclick: () => open(told.heads[row]),
        onmouseenter: (event) => {
          tip.hidden = false;
          const q = line.q ? `, q = ${plain(line.q[place])}` : "";
          tip.replaceChildren(h("b", {}, said), h("div", {}, `${line.title}: ${shown(line, place)}${q}`));
          placeTip(tip, event.target.getBoundingClientRect());
        },
        onmouseleave: () => {
          tip.hidden = true;
        },
      },
      s("rect", {
        x: x + 0.5,
        y: y + 0.5,
        width: width - 1,
        height: height - 1,
        fill: colour ?? "none",
        class: known ? "" : "unknown",
      }),
      certain
        ? s("circle", { cx: x + width / 2, cy: y + height / 2, r: 2.4, fill: inkOn(colour), class: "dot-mark" })
        : null,
      s("rect", { x: x + 1, y: y + 1, width: width - 2, height: height - 2, class: "ring" }),
    );
  }

  draw();
  const { ran, given } = told.patched;
  const fewer = told.of > told.heads.length ? ` The page has ${told.heads.length} of ${told.of} heads.` : "";
  return figure(
    "Which heads matter where",
    `A row is a head, a column a position: the ${ran} input is run with the head of the ${given} one at this position ` +
      `alone. Orange moves the score towards that of the ${given} input. Click a head to see its intervals.${fewer}`,
    content,
    { rows: () => table(study, told) },
  );
}

// The texts of a pair, with the words in which they differ.
const texts = (example) =>
  h(
    "dl",
    { class: "both-inputs" },
    ["clean", "corrupted"].map((side) => [
      h("dt", { class: "caption" }, `${side} input, ${example.title} ${plain(example[side].score)}`),
      h("dd", {}, marked(example[side].text, example[side].marks, "differs between the two inputs")),
    ]),
  );

const table = (study, told) =>
  told.heads.flatMap((head, row) =>
    told.positions.map((position, place) => ({
      head: study.heads[head][3],
      position,
      value: told.values[row][place],
      low: told.low[row][place],
      high: told.high[row][place],
      q: told.q[row][place],
    })),
  );

// On the page of a head: its values at all positions, as bars from the value without any effect.
export function headPositions(told, index, head) {
  const row = told.heads.indexOf(index);
  if (row < 0) return null;
  const line = atPositions(told, row);
  const centre = told.centre ?? 0;
  const [left, width, height] = [112, 172, 24];
  // The scale is that of all heads, so that a head without an effect looks like one.
  const ends = [...told.values.flat(), ...line.low, ...line.high, centre];
  const [low, high] = extent(ends.filter((value) => value !== null));
  const x = scaleLinear([low, high > low ? high : low + 1], [left, left + width]);
  const bars = told.positions.map((position, place) => {
    const value = line.values[place];
    const y = place * height + 4;
    const middle = y + 8;
    return [
      s("text", { x: left - 8, y: middle + 4, "text-anchor": "end", class: "name" }, shorten(spelled(position), NAME)),
      value === null
        ? null
        : [
            s("rect", {
              x: Math.min(x(value), x(centre)),
              y,
              width: Math.max(1, Math.abs(x(value) - x(centre))),
              height: 16,
              class: value > centre === (told.higher === false) ? "bar-down" : "bar-up",
            }),
            s("line", { x1: x(line.low[place]), x2: x(line.high[place]), y1: middle, y2: middle, class: "whisker" }),
          ],
      s(
        "text",
        { x: left + width + 8, y: middle + 4, class: "tick" },
        `${shown(line, place)}${sure(line, place) ? " ●" : ""}`,
      ),
    ];
  });
  const node = drawing(
    460,
    told.positions.length * height + 6,
    `${told.title}, by position`,
    s("line", { x1: x(centre), x2: x(centre), y1: 0, y2: told.positions.length * height + 4, class: "zero" }),
    bars,
  );
  return h(
    "section",
    {},
    figure(
      "Where it matters",
      `${told.title}, at one position at a time, with 95 % intervals; the line is no effect, ● significant ` +
        `(q < ${LEVEL}, corrected for all heads and positions).`,
      node,
      {
        level: "h3",
        head,
        rows: () =>
          told.positions.map((position, place) => ({
            position,
            value: line.values[place],
            low: line.low[place],
            high: line.high[place],
            q: line.q[place],
          })),
      },
    ),
  );
}
