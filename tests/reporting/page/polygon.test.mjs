import assert from "node:assert/strict";
import { test } from "node:test";
import { polygonContains } from "../../../src/headcount/reporting/page/polygon.js";

const hook = [
  [0, 0],
  [4, 0],
  [4, 4],
  [3, 4],
  [3, 1],
  [0, 1],
];

test("points inside a line, also around a corner", () => {
  assert.ok(polygonContains(hook, [1, 0.5]));
  assert.ok(polygonContains(hook, [3.5, 3]));
  assert.ok(!polygonContains(hook, [1, 3]));
  assert.ok(!polygonContains(hook, [5, 0.5]));
});
