// Where the words of a sentence and the arcs between them are drawn: computed without a browser.
import { shorten } from "./format.js";

const LETTER = 7.4,
  GAP = 14,
  LONGEST = 24;

// About as wide as the letters are: those of some scripts are twice as wide as others.
const wide = (text) =>
  [...text].reduce(
    (sum, letter) => sum + (letter.codePointAt(0) > 0x2e80 ? 2 : /[A-Zmw@%#—]/.test(letter) ? 1.35 : 1),
    0,
  );

const fromRight = (words) => /^[^A-Za-z]*[\u0590-\u08ff]/.test(words.join(" "));

// Words side by side, as they are read: each with the middle that its arcs start from.
export function placeWords(words) {
  let x = GAP / 2;
  const placed = words.map((word) => {
    const text = shorten(word, LONGEST);
    const room = Math.max(12, wide(text) * LETTER);
    x += room + GAP;
    return { text, word, middle: x - GAP - room / 2 };
  });
  const width = x;
  if (fromRight(words)) for (const each of placed) each.middle = width - each.middle;
  return { placed, width };
}

// The level of each arc [from, to], 1 for the lowest: above every shorter one that it reaches over or crosses.
export function levels(arcs) {
  const ends = arcs.map(([from, to]) => [Math.min(from, to), Math.max(from, to)]);
  const order = ends.map((_, number) => number).sort((a, b) => ends[a][1] - ends[a][0] - (ends[b][1] - ends[b][0]));
  const found = new Array(arcs.length).fill(0);
  for (const number of order) {
    const [low, high] = ends[number];
    const under = order.filter((other) => found[other] && ends[other][0] < high && ends[other][1] > low);
    found[number] = 1 + Math.max(0, ...under.map((other) => found[other]));
  }
  return found;
}

// An arc is [word, predicted word, true word].
export const isRight = ([, predicted, truth]) => predicted === truth;

// What an example says, in words.
export function spellArcs({ words, arcs }) {
  const of = (at) => words[at] ?? "no word";
  return arcs.map((arc) =>
    isRight(arc)
      ? `${of(arc[0])}: ${of(arc[1])}, right`
      : `${of(arc[0])}: ${of(arc[1])}, wrong, annotated is ${of(arc[2])}`,
  );
}
