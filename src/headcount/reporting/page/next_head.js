// Where the arrow keys lead from a head: to the next one that is there.
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// The number of the next head, undefined at a border, null where the key leads nowhere.
// `cells`: by the number of a head, in the order of the layout, its stack, layer and head.
export function nextHead(cells, index, key) {
  const order = [...cells.keys()];
  if (key === "Home") return order[0];
  if (key === "End") return order.at(-1);
  const step = STEPS[key];
  if (!step) return null;
  if (step[1]) return order[order.indexOf(index) + step[1]];
  // Up and down: the nearest head of the next layer that has one, over the border of a stack too.
  const rowOf = (one) => `${cells.get(one).stack}/${cells.get(one).layer}`;
  const rows = [...new Set(order.map(rowOf))];
  const row = rows[rows.indexOf(rowOf(index)) + step[0]];
  const column = (one) => cells.get(one).column ?? cells.get(one).head;
  const distance = (one) => Math.abs(column(one) - column(index));
  return order.filter((one) => rowOf(one) === row).sort((a, b) => distance(a) - distance(b))[0];
}
