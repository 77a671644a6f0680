import assert from "node:assert/strict";
import { test } from "node:test";
import {
  axesOf,
  layersLeft,
  namedLines,
  randomLine,
  stepWords,
} from "../../../src/headcount/reporting/page/budget_lines.js";

const order = (name, score, more = {}) => ({
  order: name,
  operations: [0.8, 0.5],
  weights: [0.85, 0.6],
  speed: [1.2, 2],
  speed_low: [1.1, 1.9],
  speed_high: [1.3, 2.1],
  score,
  low: score.map((value) => value && value - 0.01),
  high: score.map((value) => value && value + 0.01),
  heads: [
    [3, 4],
    [2, 2],
  ],
  units: [
    [900, null],
    [500, null],
  ],
  ...more,
});

const told = {
  metric: "accuracy",
  baseline: [0.9, 0.88, 0.92],
  steps: [0.8, 0.5],
  blocks: [
    { stack: "encoder", layer: 0, heads: 4, units: 1000 },
    { stack: "cross", layer: 0, heads: 4, units: null },
  ],
  lines: [
    order("both", [0.9, 0.8998]),
    order("heads only", [0.85, null], { speed: [1.1, null] }),
    order("random 0", [0.8, 0.6]),
    order("random 1", [0.7, 0.5], { speed: [1.4, 2.2] }),
  ],
};

test("lines start at the whole model and end where an order ends", () => {
  const [both, heads] = namedLines(told, "speed");
  assert.deepEqual(
    both.points.map((point) => [point.step, point.x, point.score]),
    [
      [-1, 1, 0.9],
      [0, 1.2, 0.9],
      [1, 2, 0.8998],
    ],
  );
  assert.deepEqual(both.points[2].between, [1.9, 2.1]);
  assert.deepEqual(
    heads.points.map((point) => point.step),
    [-1, 0],
  );
  assert.deepEqual(
    namedLines(told, "operations")[0].points.map((point) => point.x),
    [100, 80, 50],
  );
});

test("random orders are one line, with the range of their scores", () => {
  const { count, points } = randomLine(told, "speed");
  assert.equal(count, 2);
  const [, first, last] = points.map((point) =>
    [point.x, point.score, point.low, point.high].map((value) => Number(value.toFixed(6))),
  );
  assert.deepEqual(first, [1.3, 0.75, 0.7, 0.8]);
  assert.deepEqual(last, [2.1, 0.55, 0.5, 0.6]);
  assert.equal(randomLine({ ...told, lines: told.lines.slice(0, 2) }, "speed"), null);
});

test("without a measured speed there is no axis of it", () => {
  const lines = told.lines.map((line) => ({ ...line, speed: [null, null] }));
  assert.deepEqual(axesOf({ ...told, lines }), ["operations", "weights"]);
  assert.deepEqual(axesOf(told), ["speed", "operations", "weights"]);
});

test("what is left, by stack", () => {
  assert.deepEqual(layersLeft(told, told.lines[0], 1), [
    { stack: "encoder", layers: [{ layer: "L0", heads: 2, units: 500, allHeads: 4, allUnits: 1000 }] },
    { stack: "cross", layers: [{ layer: "L0", heads: 2, units: null, allHeads: 4, allUnits: null }] },
  ]);
});

test("a step in words", () => {
  assert.deepEqual(stepWords(told, told.lines[0], 1), [
    "4 of 8 heads, 500 of 1,000 units left",
    "60.0 % of the parameters, 50.0 % of the operations",
    "2.00 [1.90, 2.10] times as fast",
    "accuracy 0.900, a change of −0.0002 [−0.0102, +0.0098]",
  ]);
  assert.deepEqual(stepWords(told, told.lines[1], 1), ["not reached"]);
});
