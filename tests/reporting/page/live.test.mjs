// The live page without a browser: groups of heads, links, what is copied, and how long bars are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readLink, writeLink } from "../../../src/headcount/reporting/page/live/address.js";
import { topOf } from "../../../src/headcount/reporting/page/live/answer.js";
import { commands, python } from "../../../src/headcount/reporting/page/live/code.js";
import { sweepWords } from "../../../src/headcount/reporting/page/live/colourings.js";
import { drawHeads, groupsOf, sweepGroups } from "../../../src/headcount/reporting/page/live/groups.js";

const heads = [0, 1, 2, 3].map((at) => ["encoder", at >> 1, at % 2, `L${at >> 1}H${at % 2}`]);
const stacks = [
  {
    stack: "encoder",
    layers: [
      [0, 1],
      [0, 1],
    ],
  },
];
const model = {
  model: "m",
  heads,
  stacks,
  texts: ["text"],
  most_texts: 1,
  kind: "classification",
  data: { task: "sst2", data: "DATA" },
  limits: { selections: 8 },
  replacements: [{ how: "zero" }, { how: "uniform" }, { how: "mean", missing: "no texts" }],
};
const kinds = (id, values) => ({ id, names: ["none of these", "next token"], none: 0, values });
const roles = { heads, stacks, curves: [], removals: [], colourings: [kinds("roles", [0, 1, 1, null])] };

test("groups are layers, roles and patterns", () => {
  const shown = { ...roles, colourings: [...roles.colourings, kinds("patterns", [1, 1, 0, 1])] };
  const groups = groupsOf(shown);
  assert.deepEqual(
    groups.map(({ group, title, heads: own }) => [group, title, own]),
    [
      ["Layers", "L0", [0, 1]],
      ["Layers", "L1", [2, 3]],
      ["Roles", "next token (2)", [1, 2]],
      ["Patterns", "next token (3)", [0, 1, 3]],
    ],
  );
});

test("after a sweep, the heads that support the answer are a group", () => {
  const sweep = { seconds: 1, values: [-0.1, 0.3, -0.5, -0.2] };
  assert.deepEqual(sweepGroups({ ...sweep, seconds: undefined }), []);
  const [group, ...more] = sweepGroups(sweep, model, [2, 5]);
  assert.equal(more.length, 0);
  assert.deepEqual([group.group, group.heads], ["This text", [2, 3]]);
  assert.match(sweepGroups({ ...sweep, first: { of: "number" } }, model, [2])[0].title, /raise the number/);
  assert.equal(sweepGroups(sweep, { images: true }, [2])[0].group, "This image");
});

test("what a sweep says: of a number there is no other answer", () => {
  const sweep = { values: [-0.1, 0.3, -0.5, 0], flips: [false, true, false, false], first: { of: "log_probability" } };
  assert.equal(
    sweepWords(roles, sweep, String),
    "Largest changes: L1H0 (-0.5), L0H1 (0.3), L0H0 (-0.1). 1 head turns the answer alone.",
  );
  assert.ok(!sweepWords(roles, { ...sweep, first: { of: "number" } }, String).includes("answer"));
});

test("heads at random are different ones that are on", () => {
  const found = drawHeads(roles, [1], 10);
  assert.deepEqual(found.toSorted(), [0, 2, 3]);
  assert.deepEqual(
    drawHeads(roles, [], 1, () => 0.99),
    [3],
  );
});

test("a link brings back texts and heads, and of images the heads alone", () => {
  const state = { texts: ["a & b"], selections: [{ heads: [0, 3], how: "uniform", strength: 0.5 }], head: 2 };
  const back = readLink(model, writeLink(model, state));
  assert.deepEqual([back.texts, back.selections, back.head], [["a & b"], state.selections, 2]);
  const images = { ...model, images: true };
  const link = writeLink(images, { ...state, texts: ["data:image/png;base64,AAAA"] });
  assert.ok(!link.includes("base64"));
  assert.equal(readLink(images, `${link}&text=x`).texts, null);
});

test("what is copied", () => {
  const off = [{ heads: [0], how: "zero", strength: 1 }];
  assert.match(
    python(model, ['say "so"'], off),
    /with hc\.ablated\(model, "L0H0"\):\n {4}output = model\(\*\*tokenizer/,
  );
  assert.ok(python(model, ['say "so"'], off).includes('"say \\"so\\""'));
  const image = python({ ...model, images: true }, ["data:image/png;base64,AAAA"], off);
  assert.ok(!image.includes("base64"));
  assert.match(image, /Image\.open\("image\.png"\)/);
  assert.equal(
    commands(model, off),
    "echo L0H0 > heads.txt\nheadcount sweep m --task sst2 --data DATA --sets heads.txt",
  );
  assert.equal(commands(model, [{ heads: [], how: "zero", strength: 1 }]), "");
});

test("bars end at 1, or closer where all probabilities are small", () => {
  assert.equal(topOf({ options: [{ whole: 0.9, without: 0.1 }] }), 1);
  assert.equal(topOf({ options: [{ whole: 0.03 }, { whole: 0.02, without: 0.04 }] }), 0.05);
  assert.equal(topOf({ options: [{ whole: 0 }] }), 0.01);
});
