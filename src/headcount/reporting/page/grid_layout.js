// Where the cells of a grid stand: stacks below or beside each other, whichever leaves the heads more room.

export const LEFT = 34,
  TOP = 18;
const NAME = 20,
  GAP = 14;

// `stacks`: [{stack, layers, width}], a layer being the numbers of its heads. Gives the side of a cell, the size of
// all, and the corner of each stack's first cell.
export function layoutGrid(stacks, { width, height }, { most = 64, least = 7, named = stacks.length > 1 } = {}) {
  const widths = stacks.map((stack) => Math.max(1, stack.width));
  const depths = stacks.map((stack) => Math.max(1, stack.layers.length));
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const top = TOP + (named ? NAME : 0);
  const gaps = (stacks.length - 1) * GAP;
  const fit = (across, down) => Math.max(least, Math.min(most, Math.floor(across), Math.floor(down)));
  const below = fit(
    (width - LEFT) / Math.max(...widths),
    (height - stacks.length * top - gaps) / Math.max(1, sum(depths)),
  );
  const beside = fit((width - stacks.length * LEFT - gaps) / sum(widths), (height - top) / Math.max(...depths));
  const sideways = beside > below;
  const size = sideways ? beside : below;
  let [x, y] = [LEFT, top];
  const placed = stacks.map((stack, at) => {
    const corner = { ...stack, x, y };
    if (sideways) x += widths[at] * size + GAP + LEFT;
    else y += depths[at] * size + GAP + top;
    return corner;
  });
  return {
    size,
    named,
    stacks: placed,
    width: Math.max(...placed.map((one, at) => one.x + widths[at] * size)) + 4,
    height: Math.max(...placed.map((one, at) => one.y + depths[at] * size)) + 4,
  };
}

// The column of each head in its layer: by its number, or sorted by a value with those of the same kind together.
export function columnsOf(heads, key) {
  const order = key ? [...heads].sort((a, b) => key(a) - key(b) || a - b) : heads;
  return new Map(order.map((head, column) => [head, key ? column : head]));
}
