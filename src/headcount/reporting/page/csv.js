// Rows as comma-separated values that a spreadsheet reads and never runs.

const cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  // A cell that begins like a formula would be run by a spreadsheet.
  const safe = /^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export function csv(rows) {
  if (!rows.length) return "";
  return [Object.keys(rows[0]), ...rows.map(Object.values)].map((row) => `${row.map(cell).join(",")}\n`).join("");
}
