// Which heads are listed, and in which order.
import { sure } from "./format.js";

// Whether the filter keeps a head: a part of its name, significant ones only, a least value of the metric.
export function keeps(name, index, metric, { find, only, least }) {
  if (find && !name.toLowerCase().includes(find.toLowerCase())) return false;
  if (only && metric?.q && !sure(metric, index)) return false; // what was not tested has no box to untick
  if (least === "" || !metric) return true;
  return metric.values[index] !== null && metric.values[index] >= Number(least);
}

// Heads sorted by a metric, or by their own order without one; those without a value come last either way.
export function sorted(indices, metric, by) {
  if (!by) return indices;
  return indices.sort((a, b) => {
    if (!metric) return by.up ? a - b : b - a;
    const [x, y] = [metric.values[a], metric.values[b]];
    if (x === null || y === null) return (x === null) - (y === null);
    return by.up ? x - y : y - x;
  });
}
