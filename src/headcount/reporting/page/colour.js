// Colours that colour-blind readers can tell apart: purple-orange around 0, viridis for amounts,
// Okabe and Ito's for kinds.
import { extent, max } from "d3-array";
import { scaleDiverging, scaleLinear, scaleSequential } from "d3-scale";
import { interpolatePuOr, interpolateViridis } from "d3-scale-chromatic";

const KINDS = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#d55e00",
  "#cc79a7",
  "#56b4e9",
  "#d8c400",
  "#1f8fa3",
  "#7b4fc9",
  "#a0622d",
  "#52b415",
  "#40b0a6",
  "#8a6a5c",
  "#8f9a12",
  "#ff9da7",
  "#4a68d8",
  "#b39ddb",
  "#c2385e",
  "#a8c75a",
  "#d14be0",
];
// Patterns have a family of their own, numbered after the others.
const PATTERNS = ["#762a83", "#b07cc6", "#e7298a", "#5aae61", "#a6761d"];
export const patternPlace = (kind) => KINDS.length + (kind % PATTERNS.length);
const ofPlace = (place) => PATTERNS[place - KINDS.length] ?? KINDS[place % KINDS.length];
export const OF_ORDER = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

// On dark paper what is 0 is dark and what is strong is bright, as on white paper it is the other way round.
const onDark = scaleLinear([0, 0.25, 0.5, 0.75, 1], ["#c3b8ff", "#6d60a8", "#262c33", "#a86420", "#ffb55a"]);
export const isDark = () => globalThis.document?.documentElement.dataset.dark === "yes";

// `dark`: for dark paper; as the page is, unless it is said. A colouring's `span`: values that the scale must reach too.
export function colours(colouring, { dark } = {}) {
  const known = colouring.values.filter((value) => value !== null);
  if (colouring.kind === "category") {
    // What is none of the kinds stays in the background.
    // Kinds that other studies name too have colours of their own, whichever of them a study has.
    const place = (value) => colouring.colours?.[value] ?? value % KINDS.length;
    // A colour of the style sheet, unless it must stand without it.
    const background = dark === false ? "#d5dae0" : "var(--line)";
    const of = (value) => (value === colouring.none ? background : ofPlace(place(value)));
    return { of, domain: null };
  }
  if (colouring.kind === "diverging") {
    const centre = colouring.centre ?? 0;
    const most = max([...known, ...(colouring.span ?? [])], (value) => Math.abs(value - centre)) || 1;
    const domain = [centre - most, centre, centre + most];
    // Orange for below 0, purple for above; where less is better the other way round: orange is always what is needed.
    const shade = (dark ?? isDark()) ? onDark : interpolatePuOr;
    const scale = scaleDiverging(domain, (share) => shade(colouring.higher === false ? share : 1 - share));
    return { of: scale, domain };
  }
  let [low, high] = extent([...known, ...(colouring.span ?? [])]);
  if (low === undefined) [low, high] = [0, 1];
  if (low >= 0 && high <= 1 && colouring.unit.startsWith("share")) low = 0;
  if (low === high) high = low + 1;
  // What goes last is what matters: it stands out, dark on white paper and bright on dark paper.
  const shade =
    colouring.reversed && !(dark ?? isDark()) ? (share) => interpolateViridis(1 - share) : interpolateViridis;
  return { of: scaleSequential([low, high], shade), domain: [low, high] };
}

// Red, green and blue of a colour as d3 writes it: rgb(1, 2, 3) or #010203.
export function rgb(colour) {
  const found = /rgb\((\d+), ?(\d+), ?(\d+)\)/.exec(colour);
  return found ? found.slice(1).map(Number) : [1, 3, 5].map((index) => parseInt(colour.slice(index, index + 2), 16));
}

// Black or white, whichever is read more easily on a colour.
export function inkOn(colour) {
  const [r, g, b] = rgb(colour);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111" : "#fff";
}

// What a drawing looks like on white paper, where that is not a matter of the style sheet: downloads are always light.
const light = new WeakMap();
export const setLight = (node, attributes) => {
  light.set(node, attributes);
  return node;
};
export const lightOf = (node) => light.get(node)?.() ?? {};
