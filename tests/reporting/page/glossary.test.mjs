import assert from "node:assert/strict";
import { test } from "node:test";

test("terms are marked once and as whole words", async () => {
  globalThis.Node = class {};
  globalThis.document = {
    createElement: () => ({ setAttribute() {}, append() {}, term: true }),
    createTextNode: (text) => text,
  };
  const { explained } = await import("../../../src/headcount/reporting/page/glossary.js");
  const marked = (text) => explained(text).filter((part) => typeof part !== "string").length;
  assert.equal(marked("q = 0.1, the quarter"), 1);
  assert.equal(marked("attention to [SEP], attention to [CLS]"), 3);
  assert.equal(marked("headcount of arrowheads"), 0);
  delete globalThis.document;
});
