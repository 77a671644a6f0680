// Which heads of a map of heads and positions are shown, and with which numbers.

// The numbers of the rows with the values furthest from the centre, in the order of the heads.
export function strongest(values, count, centre = 0) {
  const strength = values.map((row) =>
    Math.max(...row.map((value) => (value === null ? 0 : Math.abs(value - centre)))),
  );
  return values
    .map((_, row) => row)
    .sort((a, b) => strength[b] - strength[a] || a - b)
    .slice(0, count)
    .sort((a, b) => a - b);
}

// One row as a colouring, whose numbers are those of its positions.
export const atPositions = (told, row) => ({
  ...told,
  kind: "diverging",
  values: told.values[row],
  low: told.low?.[row],
  high: told.high?.[row],
  q: told.q?.[row],
});

// What one example shows in place of the means over all: changes, without intervals. Orange moves it to the other input.
export const ofExample = (told, example) => ({
  ...told,
  title: `Change of the ${example.title} of this example`,
  unit: example.title,
  says: `orange: towards that of the ${told.patched.given} input`,
  centre: undefined,
  higher: example.falls,
  values: example.values,
  low: undefined,
  high: undefined,
  q: undefined,
});
