import assert from "node:assert/strict";
import { test } from "node:test";
import { bend, chosen, MOST, strength } from "../../../src/headcount/reporting/page/pair_arcs.js";

const row = (kind, interaction) => [0, 1, kind, interaction, null, null, null, null, null, null];

test("filters leave the pairs of a kind, the strongest first", () => {
  const rows = [row(0, 0.9), row(1, -0.2), row(2, 0.5), row(1, -0.4)];
  const sizes = (state) => chosen(rows, state).map((each) => each[3]);
  assert.deepEqual(sizes({ only: false, kind: 0 }), [0.9, 0.5, -0.4, -0.2]);
  assert.deepEqual(sizes({ only: true, kind: 0 }), [0.5, -0.4, -0.2]);
  assert.deepEqual(sizes({ only: false, kind: 1 }), [-0.4, -0.2]);
  assert.deepEqual(sizes({ only: true, kind: 2 }), [0.5]);
});

test("no more arcs than a reader can follow", () => {
  const rows = Array.from({ length: 3 * MOST }, (_, at) => row(1, at));
  const drawn = chosen(rows, { only: true, kind: 0 });
  assert.equal(drawn.length, MOST);
  assert.equal(drawn[0][3], 3 * MOST - 1);
});

test("an arc goes from one square to the other and bends aside", () => {
  assert.equal(bend([0, 0], [100, 0]), "M0,0 Q50,-18 100,0");
  assert.equal(bend([0, 0], [0, 20]), "M0,0 Q10,10 0,20");
  assert.equal(bend([5, 5], [5, 5]).includes("NaN"), false);
});

test("the strongest arc is the widest", () => {
  assert.equal(strength(row(1, -0.4), 0.4), 5);
  assert.equal(strength(row(1, 0), 0.4), 1);
  assert.equal(strength(row(1, 0), 0), 1);
});
