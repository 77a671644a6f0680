import assert from "node:assert/strict";
import { test } from "node:test";
import { isRight, levels, placeWords, spellArcs } from "../../../src/headcount/reporting/page/arc_layout.js";

test("words follow each other without touching", () => {
  const { placed, width } = placeWords(["a", "considerably", "longer", "word"]);
  const middles = placed.map(({ middle }) => middle);
  assert.deepEqual(
    middles,
    [...middles].sort((a, b) => a - b),
  );
  assert.ok(middles[0] > 0 && middles.at(-1) < width);
  assert.ok(middles[2] - middles[1] > middles[1] - middles[0] - 60, "room goes with the letters");
});

test("a word of any length keeps its place in the row, and its letters in the tip", () => {
  const { placed, width } = placeWords(["w".repeat(300), "b"]);
  assert.equal(placed[0].word.length, 300);
  assert.ok(placed[0].text.length < 30);
  assert.ok(width < 500);
});

test("scripts that are read from the right are set from the right", () => {
  const { placed } = placeWords(["שלום", "עולם"]);
  assert.ok(placed[0].middle > placed[1].middle);
});

test("an arc lies above those that it reaches over or crosses, and beside others at the bottom", () => {
  assert.deepEqual(levels([]), []);
  assert.deepEqual(
    levels([
      [0, 1],
      [1, 2],
    ]),
    [1, 1],
    "they only touch",
  );
  assert.deepEqual(
    levels([
      [3, 0],
      [1, 2],
    ]),
    [2, 1],
  );
  const crossing = levels([
    [0, 2],
    [1, 3],
  ]);
  assert.notEqual(crossing[0], crossing[1]);
  const all = levels([
    [0, 5],
    [1, 4],
    [2, 3],
    [4, 5],
  ]);
  assert.deepEqual(all, [3, 2, 1, 1]);
});

test("arcs in words", () => {
  assert.ok(isRight([0, 2, 2]) && !isRight([0, 1, 2]));
  const example = {
    words: ["a", "b", "c"],
    arcs: [
      [0, 2, 2],
      [1, -1, 2],
    ],
  };
  assert.deepEqual(spellArcs(example), ["a: c, right", "b: no word, wrong, annotated is c"]);
});
