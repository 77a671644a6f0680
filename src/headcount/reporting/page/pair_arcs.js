// Which arcs between heads are drawn, how they bend and how strong they are: computed without a browser.

// The columns of a row of pairs.
export const [FIRST, SECOND, KIND, INTERACTION, LOW, HIGH, Q, JOINT, FIRST_EFFECT, SECOND_EFFECT] = Array.from(
  { length: 10 },
  (_, at) => at,
);

export const KINDS = ["no significant interaction", "redundant", "synergistic"];

export const MOST = 60;

// The strongest pairs that the filters leave; `kind` 0 stands for all kinds.
export const chosen = (rows, { only, kind }) =>
  rows
    .filter((row) => (!only || row[KIND] > 0) && (!kind || row[KIND] === kind))
    .sort((a, b) => Math.abs(b[INTERACTION]) - Math.abs(a[INTERACTION]))
    .slice(0, MOST);

// From one square to another, bent to its left side, so that arcs do not lie on the squares between them.
export function bend([x1, y1], [x2, y2]) {
  const [across, down] = [x2 - x1, y2 - y1];
  const away = Math.hypot(across, down) || 1;
  const reach = Math.max(10, 0.18 * away);
  const [x, y] = [(x1 + x2) / 2 + (reach * down) / away, (y1 + y2) / 2 - (reach * across) / away];
  return `M${round(x1)},${round(y1)} Q${round(x)},${round(y)} ${round(x2)},${round(y2)}`;
}

const round = (value) => Math.round(10 * value) / 10;

// As wide as the interaction is strong, between 1 and 5.
export const strength = (row, most) => 1 + 4 * (most ? Math.abs(row[INTERACTION]) / most : 0);
