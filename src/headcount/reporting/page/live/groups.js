// Groups of heads that can be switched off at once: layers, roles, patterns, and what a curve of removals takes.
import { removals } from "../removal.js";
import { colouringOf } from "../told_heads.js";
import { headsOfLayer, layerName } from "./heads.js";

// [{group, title, heads}] of the model, and of what its study knows.
export function groupsOf(shown) {
  return [
    ...shown.stacks.flatMap(({ stack, layers }) =>
      layers.flatMap((heads, layer) =>
        heads.length
          ? [{ group: "Layers", title: layerName(shown, stack, layer), heads: headsOfLayer(shown, stack, layer) }]
          : [],
      ),
    ),
    ...kindsOf(shown, "roles", "Roles"),
    ...kindsOf(shown, "patterns", "Patterns"),
    ...cutsOf(shown),
  ];
}

function kindsOf(shown, id, group) {
  const colouring = colouringOf(shown, id);
  if (!colouring) return [];
  return colouring.names.flatMap((name, kind) => {
    const heads = colouring.values.flatMap((value, index) => (value === kind ? [index] : []));
    return heads.length && kind !== colouring.none ? [{ group, title: `${name} (${heads.length})`, heads }] : [];
  });
}

// The selected cut of a curve; of one without a selection, half of the heads.
function cutsOf(shown) {
  return removals(shown).flatMap((told) => {
    const count = told.chosen ?? Math.floor(told.heads.length / 2);
    if (!count) return [];
    const which = told.chosen ? "that the curve removes" : "that go first";
    return [{ group: "Curves", title: `the ${count} ${which} (${told.order})`, heads: told.heads.slice(0, count) }];
  });
}

// After a sweep of one text: the heads without which its answer is least probable.
export function sweepGroups(sweep, model = {}, counts = [5, 20]) {
  if (sweep?.seconds === undefined) return [];
  const order = sweep.values
    .map((value, index) => [value, index])
    .filter(([value]) => value < 0)
    .sort((a, b) => a[0] - b[0]);
  return counts
    .filter((count) => count <= order.length)
    .map((count) => ({
      group: model.images ? "This image" : "This text",
      title:
        sweep.first?.of === "number"
          ? `the ${count} that raise the number most`
          : `the ${count} that support the answer most`,
      heads: order.slice(0, count).map(([, index]) => index),
    }));
}

// `count` of the heads that are on, drawn at random.
export function drawHeads(shown, off, count, random = Math.random) {
  const gone = new Set(off);
  const left = shown.heads.map((_, index) => index).filter((index) => !gone.has(index));
  const found = [];
  while (found.length < count && left.length) found.push(left.splice(Math.floor(random() * left.length), 1)[0]);
  return found;
}
