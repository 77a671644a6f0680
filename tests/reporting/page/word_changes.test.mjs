import assert from "node:assert/strict";
import { test } from "node:test";
import { wordChanges } from "../../../src/headcount/reporting/page/word_changes.js";

const changed = (before, after) =>
  wordChanges(before, after)
    .filter(([, isNew]) => isNew)
    .map(([word]) => word);

test("only new words are marked", () => {
  assert.deepEqual(changed("the dog ran home", "the cat ran home"), ["cat"]);
  assert.deepEqual(changed("the dog ran", "the dog ran very far"), ["very", "far"]);
  assert.deepEqual(changed("a b c", "b c"), []);
  assert.deepEqual(changed("", "all new"), ["all", "new"]);
});

test("every word of the later text is told, in its order", () => {
  assert.deepEqual(
    wordChanges("x y", "y z x").map(([word]) => word),
    ["y", "z", "x"],
  );
});
