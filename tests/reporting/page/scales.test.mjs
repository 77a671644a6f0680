import assert from "node:assert/strict";
import { test } from "node:test";
import { linear, wide } from "../../../src/headcount/reporting/page/scales.js";

test("a domain gets room on both sides, also where it is a point", () => {
  assert.deepEqual(wide([0, 10], 0.1), [-1, 11]);
  assert.deepEqual(wide([2, 2]), [1.95, 2.05]);
});

test("a scale is linear over its domain", () => {
  assert.equal(linear([10, 20])(15), 0.5);
});
