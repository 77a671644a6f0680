import assert from "node:assert/strict";
import { test } from "node:test";
import { hatching, unseenRows } from "../../../src/headcount/reporting/page/maps.js";

const whole = { top: 0, left: 0, height: 4, width: 4 };

test("what stands above the diagonal of a map", () => {
  assert.deepEqual(unseenRows(whole, 10), [
    [10, 0, 30],
    [20, 10, 20],
    [30, 20, 10],
  ]);
});

test("in a part of a map the diagonal stays where it is", () => {
  assert.deepEqual(unseenRows({ top: 2, left: 0, height: 2, width: 4 }, 10), [[30, 0, 10]]);
  assert.deepEqual(unseenRows({ top: 0, left: 2, height: 1, width: 2 }, 10), [[0, 0, 20]]);
  assert.deepEqual(unseenRows({ top: 3, left: 0, height: 1, width: 4 }, 10), [], "the last token sees all");
});

test("slanted lines stay inside and fall to the left", () => {
  const rows = unseenRows(whole, 10);
  const lines = [...hatching(rows, 10).matchAll(/M([\d.]+),([\d.]+)L([\d.]+),([\d.]+)/g)].map((found) =>
    found.slice(1).map(Number),
  );
  assert.ok(lines.length > 5);
  for (const [x, y, left, down] of lines) {
    assert.ok(down > y && left < x);
    assert.ok(rows.some(([from, top, wide]) => left >= from && x <= from + wide && y >= top && down <= top + 10));
  }
  assert.equal(hatching(rows, 2), "", "squares that are too small");
});
