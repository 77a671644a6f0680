import assert from "node:assert/strict";
import { test } from "node:test";
import { colours, inkOn, patternPlace, rgb } from "../../../src/headcount/reporting/page/colour.js";

const kindsOf = (places) => colours({ kind: "category", values: [], colours: places });
const isOrange = (colour) => {
  const [red, , blue] = rgb(colour);
  return red > blue;
};

test("changes are coloured around 0, as far as the largest one either way", () => {
  const scale = colours({ kind: "diverging", values: [-0.1, 0.4, null], higher: true });
  assert.deepEqual(scale.domain, [-0.4, 0, 0.4]);
  assert.ok(isOrange(scale.of(-0.4)) && !isOrange(scale.of(0.4)), "orange: the score falls without the head");
});

test("orange is what is needed also where less is better", () => {
  const scale = colours({ kind: "diverging", values: [-0.4, 0.4], higher: false });
  assert.ok(isOrange(scale.of(0.4)) && !isOrange(scale.of(-0.4)));
});

test("shares begin at 0, other amounts at their smallest value", () => {
  assert.deepEqual(colours({ kind: "sequential", values: [0.2, 0.6], unit: "share of attention" }).domain, [0, 0.6]);
  assert.deepEqual(colours({ kind: "sequential", values: [0.2, 0.6], unit: "nats" }).domain, [0.2, 0.6]);
});

test("equal values and no values have a scale too", () => {
  assert.deepEqual(colours({ kind: "sequential", values: [3, 3], unit: "" }).domain, [3, 4]);
  assert.deepEqual(colours({ kind: "sequential", values: [null], unit: "" }).domain, [0, 1]);
  assert.deepEqual(colours({ kind: "diverging", values: [0, 0] }).domain, [-1, 0, 1]);
});

test("twenty kinds have colours of their own", () => {
  const scale = colours({ kind: "category", values: [] });
  assert.equal(new Set(Array.from({ length: 20 }, (_, kind) => scale.of(kind))).size, 20);
});

test("kinds with colours of their own keep them whichever others there are", () => {
  const [all, some] = [[0, 1, 2], [2]].map((colours) => kindsOf(colours));
  assert.equal(all.of(2), some.of(0));
  assert.notEqual(all.of(0), some.of(0));
});

test("patterns have other colours than roles, on every page", () => {
  const kinds = colours({ kind: "category", values: [] });
  const patterns = kindsOf([0, 1, 2, 3, 4].map(patternPlace));
  const all = [0, 1, 2, 3, 4].map((kind) => patterns.of(kind));
  assert.equal(new Set([...all, ...Array.from({ length: 40 }, (_, kind) => kinds.of(kind))]).size, 25);
});

test("on dark paper no change is darker than a large one", () => {
  const light = (colour) => rgb(colour).reduce((sum, part) => sum + part);
  globalThis.document = { documentElement: { dataset: { dark: "yes" } } };
  const scale = colours({ kind: "diverging", values: [-1, 1], higher: true });
  assert.ok(light(scale.of(0)) < light(scale.of(-1)) && light(scale.of(0)) < light(scale.of(1)));
  assert.ok(isOrange(scale.of(-1)) && !isOrange(scale.of(1)));
  delete globalThis.document;
});

test("what is none of the kinds has the colour of the lines", () => {
  const scale = colours({ kind: "category", values: [], none: 2 });
  assert.equal(scale.of(2), "var(--line)");
  assert.notEqual(scale.of(1), "var(--line)");
});

test("colours are read in both spellings, and ink is legible on them", () => {
  assert.deepEqual(rgb("rgb(1, 20, 255)"), [1, 20, 255]);
  assert.deepEqual(rgb("#0114ff"), [1, 20, 255]);
  assert.equal(inkOn("#ffffff"), "#111");
  assert.equal(inkOn("#000000"), "#fff");
});

test("a scale reaches what it is told to reach", () => {
  assert.deepEqual(colours({ kind: "diverging", values: [0.1], span: [-0.5, 0.2] }).domain, [-0.5, 0, 0.5]);
  assert.deepEqual(colours({ kind: "sequential", values: [3, 4], unit: "nats", span: [1, 6] }).domain, [1, 6]);
});

test("what goes last stands out, on white paper and on dark paper", () => {
  const light = (colour) => rgb(colour).reduce((sum, part) => sum + part);
  const order = { kind: "sequential", values: [1, 9], unit: "", reversed: true };
  const [white, dark] = [false, true].map((one) => colours(order, { dark: one }).of);
  assert.ok(light(white(9)) < light(white(1)));
  assert.ok(light(dark(9)) > light(dark(1)));
});
