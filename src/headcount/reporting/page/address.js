// The address of a head: #L3H7, in capitals or not, or #study-2/L3H7 on a page of several studies.
const decoded = (hash) => {
  try {
    return decodeURIComponent(hash);
  } catch {
    return "";
  }
};

// Numbers of the study and the head that a hash names, or null; without a study, that of the `current` one.
export function readAddress(hash, studies, current) {
  const parts = /^#(?:study-(\d+)\/)?(.+)$/.exec(decoded(hash));
  if (!parts) return null;
  const study = parts[1] ? Number(parts[1]) - 1 : current;
  const named = parts[2].toLowerCase();
  const head = studies[study]?.heads.findIndex((each) => each[3].toLowerCase() === named) ?? -1;
  return head < 0 ? null : { study, head };
}

export const writeAddress = (name, study, studies) => `#${studies > 1 ? `study-${study + 1}/` : ""}${name}`;
