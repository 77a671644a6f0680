import assert from "node:assert/strict";
import { test } from "node:test";
import { nextHead } from "../../../src/headcount/reporting/page/next_head.js";

// encoder: L0H0 L0H1 L0H3, none in L1, L2H2; cross: L0H0 L0H1
const cells = new Map(
  [
    ["encoder", 0, 0],
    ["encoder", 0, 1],
    ["encoder", 0, 3],
    ["encoder", 2, 2],
    ["cross", 0, 0],
    ["cross", 0, 1],
  ].map(([stack, layer, head], place) => [place, { stack, layer, head }]),
);

test("left and right walk through all heads in turn", () => {
  assert.equal(nextHead(cells, 2, "ArrowRight"), 3);
  assert.equal(nextHead(cells, 3, "ArrowLeft"), 2);
  assert.equal(nextHead(cells, 0, "ArrowLeft"), undefined);
  assert.equal(nextHead(cells, 5, "ArrowRight"), undefined);
});

test("up and down go to the nearest head of the next layer that has one", () => {
  assert.equal(nextHead(cells, 0, "ArrowDown"), 3, "layer 1 has no head");
  assert.equal(nextHead(cells, 3, "ArrowUp"), 1, "of two equally near the first");
  assert.equal(nextHead(cells, 3, "ArrowDown"), 5, "into the next stack");
  assert.equal(nextHead(cells, 4, "ArrowDown"), undefined);
});

test("Home and End are the first and the last; other keys lead nowhere", () => {
  assert.equal(nextHead(cells, 3, "Home"), 0);
  assert.equal(nextHead(cells, 3, "End"), 5);
  assert.equal(nextHead(cells, 3, "a"), null);
});
