import assert from "node:assert/strict";
import { test } from "node:test";
import { blockAt, blockName, enlarge } from "../../../src/headcount/reporting/page/blocks.js";

// Cells of 10 tokens, blocks of 16 x 16 tokens: at the beginning, on the diagonal from 40, and its first keys.
const blocks = {
  starts: [
    [0, 0],
    [40, 40],
    [40, 0],
  ],
  shape: [1, 3, 16, 16],
};

test("a cell that a stored block reaches into gives this block, any other none", () => {
  assert.equal(blockAt(blocks, 10, 0, 0), 0);
  assert.equal(blockAt(blocks, 10, 1, 1), 0);
  assert.equal(blockAt(blocks, 10, 2, 2), -1);
  assert.equal(blockAt(blocks, 10, 4, 5), 1);
  assert.equal(blockAt(blocks, 10, 5, 1), 2);
  assert.equal(blockAt(blocks, 10, 0, 4), -1);
  assert.equal(blockAt({ starts: [], shape: [0, 0, 0, 0] }, 10, 0, 0), -1);
});

test("of two blocks in one cell the nearer one is shown", () => {
  const near = {
    starts: [
      [0, 0],
      [30, 30],
    ],
    shape: [1, 2, 16, 16],
  };
  assert.equal(blockAt(near, 100, 0, 0), 1);
});

test("a block is named by its tokens", () => {
  assert.equal(blockName(blocks, 2), "tokens 40–55 to tokens 0–15");
});

test("the part around a cell is cut out, within the map", () => {
  const bytes = Uint8Array.from({ length: 2 * 5 * 6 }, (_, at) => at);
  const part = enlarge(bytes, 30, [5, 6], 4, 0, 2);
  assert.deepEqual([part.top, part.left, part.height, part.width], [3, 0, 2, 2]);
  assert.deepEqual([...part.bytes], [48, 49, 54, 55]);
  const whole = enlarge(bytes, 0, [5, 6], 2, 2, 9);
  assert.deepEqual([whole.top, whole.left, whole.height, whole.width], [0, 0, 5, 6]);
  assert.deepEqual([...whole.bytes], [...bytes.subarray(0, 30)]);
});
