import assert from "node:assert/strict";
import { test } from "node:test";
import { CHANGES, difference, isCausal, strongest, weight } from "../../../src/headcount/reporting/page/shades.js";

test("a difference is told as it is, to what a byte can hold", () => {
  const [after, before] = [Uint8Array.from([255, 0, 128, 60]), Uint8Array.from([0, 255, 128, 40])];
  const told = [...difference(after, before)].map(CHANGES.read);
  after.forEach((byte, at) => {
    assert.ok(Math.abs(told[at] - (weight(byte) - weight(before[at]))) < 0.01);
  });
});

test("a map that never looks ahead is causal", () => {
  assert.ok(isCausal(Uint8Array.from([9, 0, 0, 9, 9, 0, 9, 9, 9]), 3, 3));
  assert.ok(!isCausal(Uint8Array.from([9, 1, 0, 9, 9, 0, 9, 9, 9]), 3, 3));
  assert.ok(!isCausal(Uint8Array.from([9, 0, 9, 9, 9, 9]), 2, 3), "between two texts there is no order");
});

test("where each token looks most", () => {
  assert.deepEqual(
    strongest(Uint8Array.from([0, 255, 51, 0]), 2, 2).map(([row, column]) => [row, column]),
    [
      [0, 1],
      [1, 0],
    ],
  );
});
