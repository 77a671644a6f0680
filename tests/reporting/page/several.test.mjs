import assert from "node:assert/strict";
import { test } from "node:test";
import { numberOf, onOneScale, sharedNumbers } from "../../../src/headcount/reporting/page/several.js";

const number = (id, values, more = {}) => ({ id, title: id, kind: "sequential", unit: "nats", values, ...more });
const effect = (how, values) =>
  number(`sweep/${how}:delta`, values, { kind: "diverging", unit: "accuracy", effect: true, how });

test("what all studies have comes before what some have", () => {
  const studies = [
    { colourings: [effect("zero", [1]), number("measures/a", [1]), number("measures/b", [1])] },
    { colourings: [number("measures/b", [1]), number("measures/a", [1])] },
    { colourings: [effect("mean", [1]), number("measures/b", [1])] },
  ];
  const found = sharedNumbers(studies).map(({ id, count }) => [id, count]);
  assert.deepEqual(found[0], ["measures/b", 3]);
  assert.deepEqual(
    found.slice(1).sort(),
    [
      ["effect", 2],
      ["measures/a", 2],
    ].sort(),
  );
});

test("effects of one metric are called so, whichever replacement was used", () => {
  const studies = [{ colourings: [effect("zero", [1])] }, { colourings: [effect("mean", [2])] }];
  const [first] = sharedNumbers(studies);
  assert.deepEqual([first.id, first.title], ["effect", "Change of accuracy without the head"]);
  assert.equal(numberOf(studies[1], "effect").how, "mean");
});

test("one unit is one scale", () => {
  const { colourings, shared } = onOneScale([effect("zero", [-3, 1]), null, effect("mean", [2, null])]);
  assert.ok(shared);
  assert.deepEqual(colourings[0].span, [-3, 2]);
  assert.deepEqual(colourings[2].span, [-3, 2]);
  assert.equal(colourings[1], null);
});

test("other units and names have no common scale", () => {
  assert.ok(!onOneScale([number("a", [1]), number("a", [2], { unit: "tokens" })]).shared);
  assert.ok(!onOneScale([number("a", [1], { kind: "category" }), number("a", [2], { kind: "category" })]).shared);
});
