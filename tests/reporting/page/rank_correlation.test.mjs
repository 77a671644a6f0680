import assert from "node:assert/strict";
import { test } from "node:test";
import { spearman } from "../../../src/headcount/reporting/page/rank_correlation.js";

const points = (first, second) => first.map((x, place) => ({ x, y: second[place] }));
const close = (got, expected) => assert.ok(Math.abs(got - expected) < 1e-12, `${got}, expected ${expected}`);

test("the same order is 1, the opposite one -1, whatever the distances", () => {
  close(spearman(points([1, 2, 3, 4], [1, 10, 100, 1000])), 1);
  close(spearman(points([1, 2, 3, 4], [9, 8, -5, -60])), -1);
});

test("without ties it is 1 - 6 sum(d^2) / (n (n^2 - 1))", () => {
  const second = [2, 1, 4, 3, 5];
  const squares = second.reduce((sum, rank, place) => sum + (rank - place - 1) ** 2, 0);
  close(spearman(points([1, 2, 3, 4, 5], second)), 1 - (6 * squares) / (5 * (25 - 1)));
});

test("ties share their mean rank", () => {
  // Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: covariance 4.5, squares 4.5 and 5.
  close(spearman(points([1, 2, 2, 3], [1, 2, 3, 4])), 4.5 / Math.sqrt(4.5 * 5));
});

test("a constant has no order", () => {
  assert.ok(Number.isNaN(spearman(points([1, 1, 1], [1, 2, 3]))));
});
