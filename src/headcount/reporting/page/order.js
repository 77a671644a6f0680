// Which heads are listed, and in which order.
import { stepOf } from "./bins.js";
import { sure } from "./format.js";

// Whether a head is what someone looks for: `L1` is a layer, not L10 or L11, and `H3` a head of any layer.
export function isFound(name, find) {
  const [said, wanted] = [name.toLowerCase(), find.trim().toLowerCase()];
  const at = said.indexOf(wanted);
  // A number goes on: after "l1" a digit would make it another layer.
  return at >= 0 && !(/\d$/.test(wanted) && /^\d/.test(said.slice(at + wanted.length)));
}

// Whether the filter keeps a head: a part of its name, significant ones only, some of the legend's kinds or steps.
export function keeps(name, index, colouring, { find = "", only = false, kinds = [], steps = null }) {
  if (find && !isFound(name, find)) return false;
  if (only && colouring?.q && !sure(colouring, index)) return false; // what was not tested has no box to untick
  if (!kinds.length || !colouring) return true;
  const value = colouring.values[index];
  return kinds.includes(colouring.kind === "category" || !steps ? value : stepOf(steps, value));
}

// Heads sorted by a colouring, or by their own order without one; those without a value come last either way.
export function sorted(indices, colouring, by) {
  if (!by) return indices;
  return indices.sort((a, b) => {
    if (!colouring) return by.up ? a - b : b - a;
    const [x, y] = [colouring.values[a], colouring.values[b]];
    if (x === null || y === null) return (x === null) - (y === null);
    return by.up ? x - y : y - x;
  });
}
