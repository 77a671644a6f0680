// What is said of one head in words: its role, pattern and effect, as far as the study knows them.
import { estimate, plain, sure } from "./format.js";

export const colouringOf = (study, id) => study.colourings.find((colouring) => colouring.id === id) ?? null;

export const effectOf = (study) => study.colourings.find((colouring) => colouring.effect) ?? null;

// [role, strength, low, high] of a head, strongest first; the strengths are null where the study has names alone.
export function rolesOf(study, index) {
  const roles = colouringOf(study, "roles");
  if (!roles || roles.values[index] === null) return [];
  const also = roles.also?.[index];
  if (also?.length) return also;
  return roles.values[index] === roles.none ? [] : [[roles.names[roles.values[index]], null, null, null]];
}

const strength = ([, value, low, high]) =>
  value === null || value === undefined ? "" : ` ${plain(value, 2)} [${plain(low, 2)}, ${plain(high, 2)}]`;

// What a head does most, as a title: "Attends to the next token".
export function roleWords(study, index) {
  const roles = colouringOf(study, "roles");
  if (!roles || roles.values[index] === null) return "";
  return (roles.does ?? roles.names)[roles.values[index]];
}

// How much it does so, and what else it does.
export function strengthWords(study, index) {
  const [first, ...others] = rolesOf(study, index);
  const how = first ? strength(first) : "";
  const also = others.slice(0, 3).map((role) => `${role[0]}${strength(role)}`);
  return [how && `Strength${how}.`, also.length && `Also: ${also.join(", ")}.`].filter(Boolean).join(" ");
}

// The other heads that read the same key and value.
export function sharedWords(study, index) {
  const [stack, layer, head] = study.heads[index];
  const size = study.sharedKeys?.[stack];
  if (!size) return "";
  const others = study.heads.filter(
    ([of, at, number]) =>
      of === stack && at === layer && number !== head && Math.floor(number / size) === Math.floor(head / size),
  );
  return others.length ? `It shares its keys and values with ${others.map((one) => one[3]).join(", ")}.` : "";
}

export function patternWords(study, index) {
  const pattern = colouringOf(study, "patterns");
  return pattern && pattern.values[index] !== null ? pattern.names[pattern.values[index]] : "";
}

export const certainty = (colouring, index) =>
  sure(colouring, index) ? "significant" : `not significant (q = ${plain(colouring.q?.[index], 2)})`;

export function effectWords(study, index) {
  const effect = effectOf(study);
  if (!effect || effect.values[index] === null) return "";
  return `Without it ${effect.unit} changes by ${estimate(effect, index)}, ${certainty(effect, index)}.`;
}

export function patchWords(study, index) {
  const patch = study.colourings.find((colouring) => colouring.patched);
  if (!patch || patch.values[index] === null) return "";
  const { ran, given } = patch.patched;
  const what = patch.id.endsWith(":share") ? "the share is" : `${patch.unit} changes by`;
  return `On the ${ran} input with it from the ${given} one ${what} ${estimate(patch, index)}, ${certainty(patch, index)}.`;
}
