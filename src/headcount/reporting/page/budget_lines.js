// The numbers of a budget as its figures need them: lines along an axis, what is left of each layer, words for a step.
import { max, mean, min } from "d3-array";
import { plain } from "./format.js";

const isRandom = (line) => line.order.startsWith("random");

// What the score can be drawn against, each with the value of the whole model; a share is shown in percent.
export const AXES = {
  speed: { whole: 1, of: (value) => value },
  operations: { whole: 100, of: (value) => 100 * value },
  weights: { whole: 100, of: (value) => 100 * value },
};

// Those that were measured, speed first.
export const axesOf = (told) =>
  Object.keys(AXES).filter((axis) => told.lines.some((line) => line[axis].some((value) => value !== null)));

// One line for each order, from the whole model (step −1) on; steps that an order does not reach are left out.
export function namedLines(told, axis) {
  const { whole, of } = AXES[axis];
  const score = told.baseline[0];
  return told.lines
    .filter((line) => !isRandom(line))
    .map((line) => ({
      order: line.order,
      points: [
        { step: -1, x: whole, score, low: score, high: score, between: [1, 1] },
        ...told.steps.map((_, step) => ({
          step,
          x: line[axis][step] === null ? null : of(line[axis][step]),
          score: line.score[step],
          low: line.low[step] ?? line.score[step],
          high: line.high[step] ?? line.score[step],
          between: [line.speed_low[step], line.speed_high[step]],
        })),
      ].filter((point) => point.x !== null && point.score !== null),
    }));
}

// Random orders together: at each step the mean of both axes and the range of the scores; null if there are none.
export function randomLine(told, axis) {
  const { whole, of } = AXES[axis];
  const lines = told.lines.filter(isRandom);
  if (!lines.length) return null;
  const score = told.baseline[0];
  const points = told.steps.map((_, step) => {
    const there = lines.filter((line) => line[axis][step] !== null && line.score[step] !== null);
    const scores = there.map((line) => line.score[step]);
    return there.length
      ? {
          step,
          x: of(mean(there, (line) => line[axis][step])),
          score: mean(scores),
          low: min(scores),
          high: max(scores),
        }
      : null;
  });
  return {
    count: lines.length,
    points: [{ step: -1, x: whole, score, low: score, high: score }, ...points.filter(Boolean)],
  };
}

// By stack, its layers with what is left of their heads and units, and of how many; null where there is no such block.
export function layersLeft(told, line, step) {
  const stacks = new Map();
  told.blocks.forEach((block, index) => {
    if (!stacks.has(block.stack)) stacks.set(block.stack, []);
    stacks.get(block.stack).push({
      layer: `L${block.layer}`,
      heads: line.heads[step][index],
      units: line.units[step][index],
      allHeads: block.heads,
      allUnits: block.units,
    });
  });
  return [...stacks].map(([stack, layers]) => ({ stack, layers }));
}

// Changes beside each other have the same digits.
const fixed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(Math.abs(value) < 10 ? 4 : 2)}`;

export const count = (value) => value.toLocaleString("en-US");

const total = (rows, key) => rows.reduce((sum, row) => sum + (row[key] ?? 0), 0);

// A step in words, for the line below the slider, the tip and screen readers.
export function stepWords(told, line, step) {
  if (line.score[step] === null) return ["not reached"];
  const layers = layersLeft(told, line, step).flatMap((stack) => stack.layers);
  const left = ["heads", "units"]
    .map((kind) => [total(layers, kind), total(layers, kind === "heads" ? "allHeads" : "allUnits"), kind])
    .filter(([, all]) => all)
    .map(([some, all, kind]) => `${count(some)} of ${count(all)} ${kind}`);
  const base = told.baseline[0];
  const from = (value) => fixed(value - base);
  const speed =
    line.speed[step] === null
      ? null
      : `${plain(line.speed[step], 2)} [${plain(line.speed_low[step], 2)}, ${plain(line.speed_high[step], 2)}] times as fast`;
  const share = (value) => `${(100 * value).toFixed(1)} %`;
  const spread = line.low[step] === null ? "" : ` [${from(line.low[step])}, ${from(line.high[step])}]`;
  return [
    `${left.join(", ")} left`,
    `${share(line.weights[step])} of the parameters, ${share(line.operations[step])} of the operations`,
    speed,
    `${told.metric} ${plain(line.score[step])}, a change of ${from(line.score[step])}${spread}`,
  ].filter(Boolean);
}
