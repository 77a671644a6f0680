// Values in steps of one width, so that a legend can count and choose them.
import { extent } from "d3-array";

const MOST = 9;

// [from, to] of each step; an odd number of them around a centre, so that the middle one holds what is alike.
export function stepsOf(colouring, domain) {
  const [low, high] = extent(domain);
  const count = new Set(colouring.values.filter((value) => value !== null)).size < 3 ? 3 : MOST;
  const width = (high - low) / count;
  return Array.from({ length: count }, (_, step) => [low + step * width, low + (step + 1) * width]);
}

// The step of a value, the last one for the largest; -1 without a value.
export function stepOf(steps, value) {
  if (value === null || value === undefined) return -1;
  const [low, high] = [steps[0][0], steps.at(-1)[1]];
  const at = Math.floor(((value - low) / (high - low || 1)) * steps.length + 1e-9);
  return Math.max(0, Math.min(steps.length - 1, at));
}
