// Which heads are switched off, and how: a list of selections, each with a replacement and a strength, and its history.
import { sortedSet, spellHeads } from "./heads.js";

export const fresh = (how = "zero") => ({ heads: [], how, strength: 1 });

export const allOff = (selections) => sortedSet(selections.flatMap(({ heads }) => heads));

// The heads join the current selection, unless another one has them.
export function switchOff(selections, current, heads) {
  const taken = new Set(selections.flatMap((one, at) => (at === current ? [] : one.heads)));
  return selections.map((one, at) =>
    at === current ? { ...one, heads: sortedSet([...one.heads, ...heads.filter((head) => !taken.has(head))]) } : one,
  );
}

export function switchOn(selections, heads) {
  const gone = new Set(heads);
  return selections.map((one) => ({ ...one, heads: one.heads.filter((head) => !gone.has(head)) }));
}

// Off if one of them is on, else on.
export function toggle(selections, current, heads) {
  const off = new Set(allOff(selections));
  return heads.every((head) => off.has(head)) ? switchOn(selections, heads) : switchOff(selections, current, heads);
}

// As the server takes them.
export const asked = (model, selections) =>
  selections
    .filter(({ heads }) => heads.length)
    .map(({ heads, how, strength }) => ({ heads: spellHeads(model, heads), how, strength }));

const MOST = 200;

// The states that undo and redo go through.
export function makeHistory(first) {
  let [past, present, future] = [[], first, []];
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  return {
    get now() {
      return present;
    },
    get canUndo() {
      return past.length > 0;
    },
    get canRedo() {
      return future.length > 0;
    },
    // `merge`: a further step of the same movement, such as of a slider.
    push(next, { merge = false } = {}) {
      if (same(next, present)) return;
      if (!merge) past = [...past, present].slice(-MOST);
      [present, future] = [next, []];
    },
    undo() {
      if (past.length) [future, present, past] = [[present, ...future], past.at(-1), past.slice(0, -1)];
      return present;
    },
    redo() {
      if (future.length) [past, present, future] = [[...past, present], future[0], future.slice(1)];
      return present;
    },
  };
}
