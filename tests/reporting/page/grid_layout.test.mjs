import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, layoutGrid } from "../../../src/headcount/reporting/page/grid_layout.js";

const stack = (name, layers, width) => ({ stack: name, width, layers: Array.from({ length: layers }, () => []) });

test("one stack fills its room, up to the largest size of a cell", () => {
  assert.equal(layoutGrid([stack("encoder", 2, 2)], { width: 500, height: 500 }).size, 64);
  const large = layoutGrid([stack("encoder", 24, 16)], { width: 500, height: 500 });
  assert.ok(large.width <= 504 && large.height <= 504 && large.size === 20);
});

test("stacks stand below each other, or beside each other where that leaves more room", () => {
  const stacks = ["encoder", "decoder", "cross"].map((name) => stack(name, 6, 8));
  const tall = layoutGrid(stacks, { width: 300, height: 900 });
  assert.equal(new Set(tall.stacks.map(({ x }) => x)).size, 1);
  const wide = layoutGrid(stacks, { width: 900, height: 240 });
  assert.equal(new Set(wide.stacks.map(({ y }) => y)).size, 1);
  assert.ok(wide.width <= 904);
});

test("many layers have small cells and never none", () => {
  assert.equal(layoutGrid([stack("decoder", 400, 400)], { width: 500, height: 500 }).size, 7);
});

test("heads stand at their numbers, or in the order of a value", () => {
  assert.deepEqual(
    [...columnsOf([0, 2, 3])],
    [
      [0, 0],
      [2, 2],
      [3, 3],
    ],
  );
  assert.deepEqual(
    [...columnsOf([0, 2, 3], (head) => -head)],
    [
      [3, 0],
      [2, 1],
      [0, 2],
    ],
  );
});
