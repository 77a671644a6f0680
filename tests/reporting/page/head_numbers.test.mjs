import assert from "node:assert/strict";
import { test } from "node:test";
import { shares } from "../../../src/headcount/reporting/page/head_numbers.js";
import { spelled } from "../../../src/headcount/reporting/page/identity.js";

test("shares of attention have two digits, and more where a higher one would look the same", () => {
  assert.equal(shares(0.4812, 0.5023, false), "0.48 (0.50)");
  assert.equal(shares(0.48, 0.2, true), "0.48 (0.20) ●");
  assert.equal(shares(0.004, 0.001, false), "0.00 (0.00)");
  assert.equal(shares(0.004, 0.001, true), "0.004 (0.001) ●");
  assert.equal(shares(0.00031, 0.0001, true), "3.1e−4 (1.0e−4) ●");
  assert.equal(shares(0.2, null, false), "0.20 (–)");
});

test("powers of ten have no leading zero", () => {
  assert.equal(spelled("±3.1e-05"), "±3.1e−5");
  assert.equal(spelled("12 x 12 heads, -0.5"), "12 × 12 heads, −0.5");
});
