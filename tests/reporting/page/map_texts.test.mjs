import assert from "node:assert/strict";
import { test } from "node:test";
import { mapTexts } from "../../../src/headcount/reporting/page/map_texts.js";

const maps = (model, text, pair = null) => ({ model, text, pair, pooled: 1 });

test("maps of one text belong together, those of the scored model first", () => {
  const study = { model: "tuned", maps: [maps("before", "a", "b"), maps("tuned", "a", "b"), maps("tuned", "c")] };
  const texts = mapTexts(study);
  assert.deepEqual(
    texts.map(({ title }) => title),
    ["a | b", "c"],
  );
  assert.deepEqual(
    texts[0].maps.map(({ model }) => model),
    ["tuned", "before"],
  );
});
