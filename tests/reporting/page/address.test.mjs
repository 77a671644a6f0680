// Which head a link opens, in which study.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readAddress, readView, writeAddress } from "../../../src/headcount/reporting/page/address.js";

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

test("a link says the whole view", () => {
  const view = {
    tab: "without",
    by: "measures/x:y",
    kinds: [1, 2],
    sure: true,
    text: 1,
    pins: ["L0H1"],
    theme: "dark",
  };
  const hash = writeAddress("L0H0", 1, 2, view);
  const read = readView(hash, studies, 0);
  assert.deepEqual(readAddress(hash, studies, 0), { study: 1, head: 1 });
  assert.equal(read.study, 1);
  assert.equal(read.tab, "without");
  assert.equal(read.by, "measures/x:y");
  assert.deepEqual(read.kinds, [1, 2]);
  assert.equal(read.sure, true);
  assert.equal(read.text, 1);
  assert.deepEqual(read.pins, [0]);
  assert.equal(read.theme, "dark");
});

test("a view without a head has a link too, and what is as it is at first is not said", () => {
  assert.equal(writeAddress(null, 0, 1, { tab: "small" }), "#?tab=small");
  assert.equal(writeAddress(null, 1, 2, {}), "#study-2");
  assert.equal(writeAddress(null, 0, 1, { tab: "", kinds: [], text: 0 }), "");
  assert.equal(readView("#study-2", studies, 0).study, 1);
});

test("a link that makes no sense is a view as at first", () => {
  const read = readView("#L0H0?tab=x&text=-4&only=a,3&pins=zz&theme=red", studies, 0);
  assert.equal(read.tab, null);
  assert.deepEqual(read.kinds, [3]);
  assert.deepEqual(read.pins, []);
  assert.equal(read.theme, null);
});

test("the slider, the model of the maps and the compared number are part of the view", () => {
  const hash = writeAddress(null, 0, 1, { removed: 0, version: 1, shared: "measures/a:b" });
  const view = readView(hash, studies, 0);
  assert.deepEqual([view.removed, view.version, view.shared], [0, 1, "measures/a:b"]);
  const usual = readView("", studies, 0);
  assert.deepEqual([usual.removed, usual.version, usual.shared], [null, 0, null]);
  assert.equal(writeAddress(null, 0, 1, { removed: null, version: 0, shared: null }), "");
  assert.equal(readView("#?removed=-3&maps=x", studies, 0).removed, null);
});
