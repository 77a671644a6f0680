import assert from "node:assert/strict";
import { test } from "node:test";
import {
  big,
  digitsFor,
  estimate,
  LEVEL,
  label,
  plain,
  rank,
  shorten,
  shortenMiddle,
  shown,
  signed,
  sure,
} from "../../../src/headcount/reporting/page/format.js";

test("a variable is called by its title, with its unit where it has one", () => {
  assert.equal(label({ title: "Size of the weights", unit: "bytes" }), "Size of the weights (bytes)");
  assert.equal(label({ title: "Parameters", unit: "" }), "Parameters");
});

test("numbers have three digits, few where they are large, and a true minus", () => {
  assert.deepEqual(
    [0, 0.12345, -0.5, 12.345, 123.45].map((value) => plain(value)),
    ["0.000", "0.123", "−0.500", "12.3", "123"],
  );
  assert.equal(plain(0.00012), "1.2e−4");
  assert.equal(plain(2_500_000), "2.5e+6");
  assert.equal(plain(0.5, 1), "0.5");
});

test("what is not known is a dash", () => {
  assert.deepEqual(
    [null, undefined, Number.NaN].map((value) => plain(value)),
    ["–", "–", "–"],
  );
});

test("changes say their sign", () => {
  assert.deepEqual(
    [0.25, -0.25, 0].map((value) => signed(value)),
    ["+0.250", "−0.250", "0.000"],
  );
});

test("a value is shown with its interval, a kind by its name", () => {
  const colouring = { kind: "diverging", values: [0.1, null], low: [-0.1, null], high: [0.3, null] };
  assert.equal(shown(colouring, 0), "+0.100 [−0.100, +0.300]");
  assert.equal(shown(colouring, 1), "no value");
  assert.equal(shown({ ...colouring, unknown: "not run" }, 1), "not run");
  assert.equal(shown({ kind: "category", values: [1], names: ["broad", "next token"] }, 0), "next token");
  assert.equal(shown({ kind: "sequential", values: [0.5] }, 0), "0.500");
});

test("significant is q below the level, and nothing else", () => {
  const colouring = { q: [LEVEL, LEVEL / 2, null] };
  assert.deepEqual(
    [0, 1, 2].map((place) => sure(colouring, place)),
    [false, true, false],
  );
  assert.equal(sure({}, 0), false);
});

test("rank 1 is the largest; equal values share a rank; kinds have none", () => {
  const colouring = { kind: "sequential", values: [0.2, 0.9, null, 0.2] };
  assert.deepEqual(
    [0, 1, 2, 3].map((place) => rank(colouring, place)),
    [2, 1, null, 2],
  );
  assert.equal(rank({ kind: "category", values: [3] }, 0), null);
});

test("large counts are words", () => {
  assert.deepEqual([950, 1_500_000, 2_340_000_000].map(big), ["950", "1.50 million", "2.34 billion"]);
});

test("names are cut by the width of their letters", () => {
  assert.equal(shorten("token", 5), "token");
  assert.equal(shorten("tokens", 5), "token…");
  assert.equal(shorten("注意力机制", 6), "注意力…", "letters of double width");
  assert.equal(shorten("👩‍👩‍👧‍👦", 1).endsWith("…"), true, "no half of a surrogate pair");
});

test("names of runs keep both ends", () => {
  assert.equal(shortenMiddle("short", 10), "short");
  const cut = shortenMiddle("runs/sst2-seed-1/checkpoint-500", 15);
  assert.match(cut, /^runs.*….*500$/);
  assert.ok([...cut].length <= 15);
});

test("an estimate in a sentence has two digits of its interval's width", () => {
  assert.deepEqual(
    [digitsFor(0.68, 0.82), digitsFor(0.51, 0.54), digitsFor(-3, 40), digitsFor(0.5, 0.5)],
    [2, 3, 0, null],
  );
  const effect = {
    kind: "diverging",
    values: [-0.0623, 0.0001, 2e-6],
    low: [-0.28, -0.19, 1e-6],
    high: [0.143, 0.19, 3e-6],
  };
  assert.equal(estimate(effect, 0), "−0.06 [−0.28, +0.14]");
  assert.equal(estimate(effect, 1), "0.00 [−0.19, +0.19]");
  assert.equal(estimate(effect, 2), "+2.0e−6 [+1.0e−6, +3.0e−6]");
  assert.equal(estimate({ kind: "sequential", values: [0.5] }, 0), "0.500");
});
