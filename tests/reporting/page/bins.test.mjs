import assert from "node:assert/strict";
import { test } from "node:test";
import { stepOf, stepsOf } from "../../../src/headcount/reporting/page/bins.js";

const values = Array.from({ length: 20 }, (_, at) => at / 19);

test("every value is in one step, the largest in the last", () => {
  const steps = stepsOf({ values }, [0, 1]);
  assert.equal(steps.length, 9);
  const counts = steps.map((_, step) => values.filter((value) => stepOf(steps, value) === step).length);
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    20,
  );
  assert.equal(stepOf(steps, 1), 8);
  assert.equal(stepOf(steps, 0), 0);
});

test("around a centre the middle step holds what is alike", () => {
  const steps = stepsOf({ values: [-1, 0, 0.01, 1] }, [-1, 0, 1]);
  assert.equal(stepOf(steps, 0), 4);
  assert.equal(stepOf(steps, 0.01), 4);
});

test("no value is in no step", () => {
  assert.equal(stepOf(stepsOf({ values }, [0, 1]), null), -1);
});
