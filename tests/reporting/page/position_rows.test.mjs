import assert from "node:assert/strict";
import { test } from "node:test";
import { colours, rgb } from "../../../src/headcount/reporting/page/colour.js";
import { shown, writer } from "../../../src/headcount/reporting/page/format.js";
import { atPositions, ofExample, strongest } from "../../../src/headcount/reporting/page/position_rows.js";

const isOrange = (colour) => rgb(colour)[0] > rgb(colour)[2];

test("the rows furthest from the centre, in the order of the heads", () => {
  const values = [
    [0, 0.1],
    [null, 0.9],
    [0.5, -0.6],
    [null, null],
  ];
  assert.deepEqual(strongest(values, 2), [1, 2]);
  assert.deepEqual(strongest(values, 2, 1), [0, 2], "around 1 the low ones are far away");
  assert.deepEqual(strongest(values, 9), [0, 1, 2, 3]);
});

test("a share is coloured around the value without an effect, orange where it carries the difference", () => {
  const noise = colours({ kind: "diverging", centre: 1, higher: true, values: [0.2, 1, 1.1, null] });
  assert.deepEqual(
    noise.domain.map((value) => Number(value.toFixed(6))),
    [0.2, 1, 1.8],
  );
  assert.ok(isOrange(noise.of(0.2)) && !isOrange(noise.of(1.8)));
  const denoise = colours({ kind: "diverging", centre: 0, higher: false, values: [0.8, 0] });
  assert.ok(isOrange(denoise.of(0.8)) && !isOrange(denoise.of(-0.8)));
});

test("shares have no sign, changes have one", () => {
  assert.equal(writer({ kind: "diverging", centre: 0 })(0.5), "0.500");
  assert.equal(writer({ kind: "diverging" })(0.5), "+0.500");
  const line = atPositions({ centre: 0, values: [[0.5]], low: [[0.4]], high: [[0.6]], q: [[0.01]] }, 0);
  assert.equal(shown(line, 0), "0.500 [0.400, 0.600]");
});

test("one example shows changes, without intervals and tests", () => {
  const told = { title: "t", centre: 0, patched: { given: "clean" }, values: [[1]], low: [[1]], high: [[1]], q: [[0]] };
  const seen = ofExample(told, { title: "logit difference", falls: true, values: [[-0.25]] });
  const line = atPositions(seen, 0);
  assert.equal(shown(line, 0), "−0.250");
  assert.equal(line.q, undefined);
  assert.ok(isOrange(colours({ ...line, values: [-0.25] }).of(-0.25)), "orange: towards the lower score of the giver");
});
