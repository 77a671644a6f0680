// A sentence with arcs: above its words what a head predicts, below them what is annotated.
import { isRight, levels, placeWords, spellArcs } from "./arc_layout.js";
import { drawing, h, s } from "./dom.js";

const STEP = 15,
  LINE = 20,
  EDGE = 6;

// A sentence shrinks to this share of its size before it scrolls.
const LEAST = 0.8;

export function sentence(example) {
  const { placed, width } = placeWords(example.words);
  const there = (at) => at >= 0 && at < placed.length;
  const drawn = (end) => example.arcs.filter((arc) => there(arc[0]) && there(arc[end]) && arc[0] !== arc[end]);
  const above = rows(drawn(1), 1),
    below = rows(drawn(2), 2);
  const top = EDGE + STEP * above.deepest + 4;
  const height = top + LINE + STEP * below.deepest + EDGE + 4;
  const ends = new Set(example.arcs.flatMap((arc) => [arc[0], arc[2]]));
  const right = example.arcs.filter(isRight).length;
  const node = drawing(
    Math.ceil(width),
    Math.ceil(height),
    `${example.words.join(" ")} Predicted: ${spellArcs(example).join("; ")}.`,
    above.arcs.map(([arc, level]) => curve(placed, arc, 1, top - 2, -level)),
    below.arcs.map(([arc, level]) => curve(placed, arc, 2, top + LINE - 2, level)),
    placed.map(({ text, word, middle }, at) =>
      s(
        "text",
        { x: middle, y: top + 14, "text-anchor": "middle", class: ends.has(at) ? "word" : "word aside" },
        text,
        s("title", {}, word),
      ),
    ),
  );
  node.style.minWidth = `${Math.ceil(LEAST * width)}px`;
  const counted = `${right} of ${example.arcs.length} right`;
  return h(
    "li",
    {},
    h("p", { class: "verdict" }, counted),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `Sentence, ${counted}` }, node),
  );
}

function rows(arcs, end) {
  const found = levels(arcs.map((arc) => [arc[0], arc[end]]));
  return { arcs: arcs.map((arc, number) => [arc, found[number]]), deepest: Math.max(0, ...found) };
}

// From a word to the other one, which has the arrow; `level` is below 0 above the words.
function curve(placed, arc, end, base, level) {
  const [x, to] = [placed[arc[0]].middle, placed[arc[end]].middle];
  const ahead = Math.sign(to - x);
  const y = base + STEP * level;
  const [start, stop] = [x + 3 * ahead, to - 3 * ahead];
  const bend = Math.min(14, Math.abs(stop - start) / 2);
  const tip = level < 0 ? -5 : 5;
  const kind = end === 1 ? (isRight(arc) ? "arc right-arc" : "arc wrong-arc") : "arc true-arc";
  return s(
    "g",
    { class: `${kind}${end === 2 && isRight(arc) ? " right-arc" : ""}` },
    s("path", {
      d:
        `M${start},${base} C${start},${y} ${start},${y} ${start + bend * ahead},${y} ` +
        `L${stop - bend * ahead},${y} C${stop},${y} ${stop},${y} ${stop},${base}`,
    }),
    s("path", { class: "arrow", d: `M${stop - 3.5},${base + tip} L${stop + 3.5},${base + tip} L${stop},${base} Z` }),
    s(
      "title",
      {},
      `${placed[arc[0]].word} ${end === 1 ? (isRight(arc) ? "(right)" : "(wrong)") : "(annotated)"}: ${placed[arc[end]].word}`,
    ),
  );
}

// What the lines mean.
export const arcNames = () =>
  h(
    "ul",
    { class: "kinds" },
    [
      ["arc right-arc", "predicted, right"],
      ["arc wrong-arc", "predicted, wrong"],
      ["arc true-arc", "annotated"],
    ].map(([kind, name]) =>
      h(
        "li",
        {},
        s(
          "svg",
          { viewBox: "0 0 26 12", width: 26, height: 12, "aria-hidden": "true" },
          s("g", { class: kind }, s("path", { d: "M1,6 L25,6" })),
        ),
        name,
      ),
    ),
  );
