// Numbers as people read them.
export function plain(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.0005 || size >= 1e6)) return value.toExponential(1).replaceAll("-", "−");
  return (size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(digits)).replace("-", "−");
}

export const signed = (value, digits = 3) => (value > 0 ? "+" : "") + plain(value, digits);

// How many digits after the point an estimate with this interval deserves: two of the interval's width, as in
// story/names.py; null where the width says nothing, or is too small for digits.
export function digitsFor(low, high) {
  const width = Math.abs(high - low);
  return width >= 5e-4 && Number.isFinite(width) ? Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(width)))) : null;
}

// A number with so many digits; what rounds to 0 has no minus.
export function fixed(value, digits, withSign = false) {
  const text = value.toFixed(digits);
  if (Number(text) === 0) return (0).toFixed(digits);
  return `${withSign && value > 0 ? "+" : ""}${text.replace("-", "−")}`;
}

// A value with its interval in a sentence, with as many digits as the interval leaves room for.
export function estimate(colouring, index) {
  const [value, low, high] = ["values", "low", "high"].map((part) => colouring[part]?.[index] ?? null);
  const digits = [value, low, high].includes(null) ? null : digitsFor(low, high);
  if (digits === null) return shown(colouring, index);
  const write = (number) => fixed(number, digits, writer(colouring) === signed);
  return `${write(value)} [${write(low)}, ${write(high)}]`;
}

// What a variable is called, with its unit where it has one.
export const label = ({ title, unit }) => (unit ? `${title} (${unit})` : title);

// Changes have a sign; a share has none, though it may be above or below what is in the middle.
export const writer = (colouring) =>
  colouring.whole
    ? (value) => String(Math.round(value))
    : colouring.kind === "diverging" && colouring.centre === undefined
      ? signed
      : plain;

export function shown(colouring, index) {
  const value = colouring.values[index];
  if (value === null || value === undefined) return colouring.unknown ?? "no value";
  if (colouring.kind === "category") return colouring.names[value];
  const write = writer(colouring);
  const spread = colouring.low ? ` [${write(colouring.low[index])}, ${write(colouring.high[index])}]` : "";
  return write(value) + spread;
}

// A head's value for a table: a number, or the name of its kind.
export function cellOf(colouring, index) {
  const value = colouring?.values[index] ?? null;
  return value !== null && colouring.kind === "category" ? colouring.names[value] : value;
}

// What "significant" means, as in core/claims.py; a test compares the two.
export const LEVEL = 0.05;
export const sure = (colouring, index) =>
  Boolean(colouring.q) && colouring.q[index] !== null && colouring.q[index] < LEVEL;

export function rank(colouring, index) {
  if (colouring.kind === "category" || colouring.values[index] === null) return null;
  return 1 + colouring.values.filter((value) => value !== null && value > colouring.values[index]).length;
}

export const big = (value) =>
  value >= 1e9
    ? `${(value / 1e9).toFixed(2)} billion`
    : value >= 1e6
      ? `${(value / 1e6).toFixed(2)} million`
      : plain(value);

// A name that fits into so many letters: those of some scripts are twice as wide as others.
const wide = (letter) => (letter.codePointAt(0) > 0x2e80 ? 2 : /[A-Zmw@%#]/.test(letter) ? 1.5 : 1);
export function shorten(name, room) {
  let left = room;
  const letters = [...name];
  const kept = letters.findIndex((letter) => {
    left -= wide(letter);
    return left < 0;
  });
  return kept < 0 ? name : `${letters.slice(0, kept).join("")}…`;
}

// The same, with what is left out in the middle: names of runs differ at their ends.
export function shortenMiddle(name, room) {
  const letters = [...name];
  const size = (from, to) => letters.slice(from, to).reduce((sum, letter) => sum + wide(letter), 0);
  if (size(0, letters.length) <= room) return name;
  let [start, stop] = [0, letters.length];
  while (size(0, start + 1) + size(stop, letters.length) <= room - 1) {
    start++;
    if (size(0, start) + size(stop - 1, letters.length) <= room - 1) stop--;
  }
  return `${letters.slice(0, start).join("")}…${letters.slice(stop).join("")}`;
}
