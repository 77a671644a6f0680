// Which tab a study opens with, and which number each tab shows at first.
import { effectOf } from "./told_heads.js";

const has = (study, start) => study.colourings.find((colouring) => colouring.id.startsWith(start));

export function firstTab(study) {
  const looks = study.maps.length || study.patterns || study.probes.length || study.cues.length;
  if (looks || study.colourings.some((one) => one.id === "roles" || one.id.startsWith("measures/"))) return "do";
  if (effectOf(study) || study.layers.length || study.pairs.length || study.positions.length) return "without";
  return study.curves.length || study.budgets.length || study.costs.length || study.dynamics ? "small" : "do";
}

// The id of the number that a tab shows at first, or null where the study has none for it.
export function firstNumber(study, tab) {
  const { colourings } = study;
  const chosen = {
    do: () =>
      has(study, "roles") ??
      has(study, "patterns") ??
      has(study, "measures/") ??
      has(study, "probe/") ??
      has(study, "present"),
    without: () =>
      effectOf(study) ??
      colourings.find((one) => one.patched && "centre" in one) ??
      colourings.find((one) => one.patched) ??
      has(study, "sweep/") ??
      has(study, "pruning/"),
    small: () => has(study, "pruning/"),
  }[tab]();
  return (chosen ?? colourings[0])?.id ?? null;
}
