// Blocks of a long text's map: which one is stored token by token where someone points, and what is enlarged elsewhere.

// How many cells of a map between stretches are enlarged at once, in each direction.
export const WINDOW = 32;

// The number of the stored block at a cell of the map between stretches of `pooled` tokens; -1 where none is stored.
// Of several, the one whose middle is nearest.
export function blockAt({ starts, shape }, pooled, row, column) {
  const [, , queries, keys] = shape;
  const meets = (cell, start, size) => cell * pooled < start + size && (cell + 1) * pooled > start;
  const off = (cell, start, size) => Math.abs((cell + 0.5) * pooled - start - size / 2);
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  starts.forEach(([query, key], number) => {
    if (!meets(row, query, queries) || !meets(column, key, keys)) return;
    const distance = off(row, query, queries) + off(column, key, keys);
    if (distance < least) [best, least] = [number, distance];
  });
  return best;
}

// A block as the user sees it: tokens counted from 0, both ends included.
export function blockName({ starts, shape }, number) {
  const [query, key] = starts[number];
  return `tokens ${query}–${query + shape[2] - 1} to tokens ${key}–${key + shape[3] - 1}`;
}

// The part of a head's map around a cell, as a small map of its own.
export function enlarge(bytes, offset, [rows, columns], row, column, size = WINDOW) {
  const start = (at, count) => Math.max(0, Math.min(count - size, at - Math.floor(size / 2)));
  const [top, left] = [start(row, rows), start(column, columns)];
  const [height, width] = [Math.min(size, rows), Math.min(size, columns)];
  const cut = new Uint8Array(height * width);
  for (let at = 0; at < height; at++) {
    const from = offset + (top + at) * columns + left;
    cut.set(bytes.subarray(from, from + width), at * width);
  }
  return { bytes: cut, top, left, height, width };
}
