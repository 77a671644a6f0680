// Which head a link opens, in which study.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readAddress, writeAddress } from "../../../src/headcount/reporting/page/address.js";

const study = (...names) => ({ heads: names.map((name) => ["encoder", 0, 0, name]) });
const studies = [study("L0H0", "L0H1"), study("L0H1", "L0H0")];

test("a head of the current study", () => {
  assert.deepEqual(readAddress("#L0H1", studies, 0), { study: 0, head: 1 });
  assert.deepEqual(readAddress("#L0H1", studies, 1), { study: 1, head: 0 });
});

test("capitals make no difference", () => {
  assert.deepEqual(readAddress("#l0h1", studies, 0), { study: 0, head: 1 });
  assert.deepEqual(readAddress("#study-2/l0H0", studies, 0), { study: 1, head: 1 });
});

test("a head of another study", () => {
  assert.deepEqual(readAddress("#study-2/L0H0", studies, 0), { study: 1, head: 1 });
});

test("what names no head", () => {
  for (const hash of ["", "#", "#L9H9", "#study-3/L0H0", "#study-0/L0H0", "#%E0%A4%A"])
    assert.equal(readAddress(hash, studies, 0), null, hash);
});

test("what is written is read", () => {
  assert.equal(writeAddress("L0H1", 0, 1), "#L0H1");
  assert.deepEqual(readAddress(writeAddress("L0H0", 1, studies.length), studies, 0), { study: 1, head: 1 });
});
