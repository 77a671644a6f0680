import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { weight } from "../../../src/headcount/reporting/page/shades.js";
import { bytesOf, inflate } from "../../../src/headcount/reporting/page/unpack.js";

test("a layer comes back byte by byte, however many pieces the stream has", async () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * at + (at >> 7)) % 256);
  const text = Buffer.from(deflateSync(bytes)).toString("base64");
  assert.deepEqual(await inflate(bytesOf(text), bytes.length), bytes);
});

test("a byte is the square root of a weight", () => {
  assert.deepEqual([0, 51, 255].map(weight), [0, 0.04000000000000001, 1]);
});
