import assert from "node:assert/strict";
import { test } from "node:test";
import { csv } from "../../../src/headcount/reporting/page/csv.js";

test("a heading and a line for each row; nothing for no rows", () => {
  assert.equal(
    csv([
      { head: "L0H1", value: 0.5 },
      { head: "L0H2", value: null },
    ]),
    "head,value\nL0H1,0.5\nL0H2,\n",
  );
  assert.equal(csv([]), "");
});

test("commas, quotes and line breaks are quoted", () => {
  assert.equal(csv([{ text: 'a "b", c\nd' }]), 'text\n"a ""b"", c\nd"\n');
});

test("a text that begins like a formula is not one; numbers stay numbers", () => {
  assert.equal(
    csv([{ text: "=1+1" }, { text: "@home" }, { text: -0.5 }, { text: "-0.5" }]),
    "text\n'=1+1\n'@home\n-0.5\n-0.5\n",
  );
});
