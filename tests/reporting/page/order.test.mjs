import assert from "node:assert/strict";
import { test } from "node:test";
import { isFound, keeps, sorted } from "../../../src/headcount/reporting/page/order.js";

const colouring = { values: [0.1, null, 0.5, -0.2], q: [0.01, null, 0.2, 0.04] };
const kept = (filter) => [0, 1, 2, 3].filter((place) => keeps(`L0H${place}`, place, colouring, filter));

test("without a filter every head is kept", () => {
  assert.deepEqual(kept({}), [0, 1, 2, 3]);
});

test("the filter asks for a part of the name, for significant heads, for steps of the scale", () => {
  const steps = [
    [-0.5, 0],
    [0, 0.5],
  ];
  assert.deepEqual(kept({ find: "h3" }), [3]);
  assert.deepEqual(kept({ only: true }), [0, 3]);
  assert.deepEqual(kept({ kinds: [1], steps }), [0, 2], "a head without a value is in no step");
  assert.deepEqual(kept({ only: true, kinds: [1], steps }), [0]);
});

test("a layer is not found in the names of others", () => {
  const names = ["L1H0", "L1H10", "L10H1", "L11H0", "decoder.L1H2"];
  assert.deepEqual(
    names.filter((name) => isFound(name, "l1")),
    ["L1H0", "L1H10", "decoder.L1H2"],
  );
  assert.deepEqual(
    names.filter((name) => isFound(name, " H1 ")),
    ["L10H1"],
  );
  assert.deepEqual(
    names.filter((name) => isFound(name, "decoder")),
    ["decoder.L1H2"],
  );
});

test("significance is not asked of what was not tested", () => {
  assert.equal(keeps("L0H0", 0, { values: [1] }, { only: true }), true);
});

test("heads are sorted either way, those without a value last", () => {
  const places = [0, 1, 2, 3];
  assert.deepEqual(sorted([...places], colouring, { column: 0, up: true }), [3, 0, 2, 1]);
  assert.deepEqual(sorted([...places], colouring, { column: 0, up: false }), [2, 0, 3, 1]);
  assert.deepEqual(sorted([...places], undefined, { column: -1, up: false }), [3, 2, 1, 0], "by name");
  assert.deepEqual(sorted([...places], colouring, null), places);
});

test("of categories some kinds can be kept", () => {
  const kinds = { kind: "category", values: [0, null, 2, 0] };
  const of = (filter) => [0, 1, 2, 3].filter((index) => keeps(`L0H${index}`, index, kinds, filter));
  assert.deepEqual(of({ kinds: [0] }), [0, 3]);
  assert.deepEqual(of({ kinds: [] }), [0, 1, 2, 3]);
  assert.deepEqual(of({ kinds: [2], find: "h3" }), []);
  assert.deepEqual(of({ kinds: [0, 2] }), [0, 2, 3]);
});
