// What the colours of the grid mean here: on or off, the sweep of this text, or a number of the study.

export const SWITCHED = "switched";

export function onOrOff(shown, off) {
  const gone = new Set(off);
  return {
    id: SWITCHED,
    title: "switched",
    group: "",
    unit: "",
    says: "",
    kind: "category",
    names: ["on", "off"],
    colours: [0, 1],
    none: 0,
    values: shown.heads.map((_, index) => (gone.has(index) ? 1 : 0)),
  };
}

// What is shown before anything is chosen: what the study says of each head's effect, or which are on.
export const firstColouring = (shown) => shown.colourings.find(({ effect }) => effect)?.id ?? SWITCHED;

// A sweep that is under way: heads that were not run yet have no value.
export function startSweep(shown, first, input = "text") {
  const isLog = first.of === "log_probability";
  const quantity = isLog ? `log-probability of “${first.name}”` : `predicted number`;
  return {
    id: "sweep",
    title: `Change of the ${quantity} without the head`,
    group: "",
    unit: isLog ? "nats" : "",
    says: isLog
      ? `for this ${input} alone. Orange: the head supports this answer; purple: it speaks against it`
      : `for this ${input} alone. Orange: the number falls without the head; purple: it rises`,
    kind: "diverging",
    higher: true,
    values: shown.heads.map(() => null),
    flips: shown.heads.map(() => false),
    unknown: "not run yet",
    first,
  };
}

export function addLayer(shown, colouring, event) {
  const at = new Map(shown.heads.map((head, index) => [head.slice(0, 3).join("/"), index]));
  event.heads.forEach((head, place) => {
    const index = at.get([event.stack, event.layer, head].join("/"));
    colouring.values[index] = event.change[place];
    colouring.flips[index] = event.flips[place];
  });
}

const SMALL = 0.01;

// What a finished sweep says in a sentence: the largest changes, and which heads turn the answer.
export function sweepWords(shown, colouring, write) {
  const order = colouring.values
    .map((value, index) => [value, index])
    .filter(([value]) => value !== null)
    .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  const named = order.slice(0, 3).map(([value, index]) => `${shown.heads[index][3]} (${write(value)})`);
  const small = order.length && Math.abs(order[0][0]) < SMALL ? `No head alone changes it by ${SMALL} or more. ` : "";
  const flips = colouring.flips.filter(Boolean).length;
  const isNumber = colouring.first.of === "number"; // which has no other answer to turn to
  const turned = isNumber
    ? ""
    : flips === 0
      ? "No head alone turns the answer."
      : `${flips} ${flips === 1 ? "head turns" : "heads turn"} the answer alone.`;
  return `${small}Largest changes: ${named.join(", ")}. ${turned}`.trim();
}
