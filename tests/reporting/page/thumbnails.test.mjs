import assert from "node:assert/strict";
import { test } from "node:test";
import { strongestOf } from "../../../src/headcount/reporting/page/thumbnails.js";

test("a map of many tokens keeps its thin lines", () => {
  const side = 100;
  const bytes = Uint8Array.from({ length: side * side }, (_, at) => (at % side === Math.floor(at / side) ? 255 : 0));
  const small = strongestOf(bytes, side, side, 30);
  assert.deepEqual([small.rows, small.columns], [25, 25]);
  for (let at = 0; at < 25; at++) assert.equal(small.bytes[at * 25 + at], 255);
  assert.equal(
    small.bytes.reduce((sum, byte) => sum + byte),
    25 * 255,
  );
});

test("a map of few tokens is as it is", () => {
  const bytes = Uint8Array.from([1, 2, 3, 4]);
  assert.equal(strongestOf(bytes, 2, 2, 30).bytes, bytes);
});
