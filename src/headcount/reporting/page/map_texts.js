// The texts that maps were kept of, each with the maps of the model and of others, such as the one before fine-tuning.

export function mapTexts(study) {
  const found = new Map();
  for (const maps of study.maps) {
    const key = JSON.stringify([maps.text, maps.pair ?? null, maps.pooled]);
    if (!found.has(key)) found.set(key, { title: titleOf(maps), maps: [] });
    found.get(key).maps.push(maps);
  }
  const own = (maps) => maps.model === study.model;
  return [...found.values()].map((one) => ({ ...one, maps: one.maps.sort((a, b) => own(b) - own(a)) }));
}

function titleOf(maps) {
  const text = [maps.text, maps.pair].filter(Boolean).join(" | ");
  return text.length > 90 ? `${text.slice(0, 89)}…` : text;
}

export const shortModel = (maps) => maps.model.split("/").filter(Boolean).at(-1) ?? maps.model;

// What a switch calls the maps of a model: where it is known to be the one before fine-tuning, so.
export function nameOf(study, maps) {
  if (!study.before) return shortModel(maps);
  return maps.model === study.before ? `before: ${shortModel(maps)}` : `after: ${shortModel(maps)}`;
}

// Where a head's map stands in a text's maps, or null.
export function mapOf(maps, [stack, layer, head]) {
  const found = maps?.stacks.find((one) => one.stack === stack);
  if (!found || layer >= found.shape[0] || head >= found.shape[1]) return null;
  return { found, layer, head, rows: found.shape[2], columns: found.shape[3] };
}
