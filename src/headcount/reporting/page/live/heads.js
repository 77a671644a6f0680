// Sets of heads by their names, as people write them: L3H7, a layer L5, a range L3H0-5, cross.L2 with several stacks.

const SPELLING = /^(?:([a-z]+)\.)?L(\d+)(?:H(\d+)(?:-(\d+))?)?$/;

// `model`: its stacks and heads, as a study's page has them; a set is a sorted list of numbers of heads.
export const layerName = (model, stack, layer) =>
  model.heads.some((head) => head[3].includes(".")) ? `${stack}.L${layer}` : `L${layer}`;

export const headsOfLayer = (model, stack, layer) =>
  model.heads.flatMap((head, index) => (head[0] === stack && head[1] === layer ? [index] : []));

export const sortedSet = (indices) => [...new Set(indices)].sort((a, b) => a - b);

// The shortest names of a set, in the order of the model.
export function spellHeads(model, indices) {
  const layers = new Map();
  for (const index of sortedSet(indices)) {
    const [stack, layer] = model.heads[index];
    const key = layerName(model, stack, layer);
    if (!layers.has(key)) layers.set(key, { all: headsOfLayer(model, stack, layer).length, numbers: [] });
    layers.get(key).numbers.push(model.heads[index][2]);
  }
  return [...layers]
    .flatMap(([name, { all, numbers }]) =>
      numbers.length === all
        ? [name]
        : ranges(numbers).map(([from, to]) => `${name}H${from === to ? from : `${from}-${to}`}`),
    )
    .join(", ");
}

function ranges(numbers) {
  const found = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found;
}

// The heads of a list of names; what the model does not have is left out.
export function findHeads(model, names) {
  const found = [];
  for (const name of names.split(/[\s,]+/).filter(Boolean)) {
    const parts = SPELLING.exec(name);
    if (!parts) continue;
    const [, stack, layer, from, to] = parts;
    model.heads.forEach((head, index) => {
      const named = stack === undefined ? !head[3].includes(".") : head[0] === stack;
      const first = from === undefined || (head[2] >= Number(from) && head[2] <= Number(to ?? from));
      if (named && first && head[1] === Number(layer)) found.push(index);
    });
  }
  return sortedSet(found);
}
