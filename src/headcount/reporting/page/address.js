// What a link says: #L3H7 is a head, in capitals or not, #study-2/L3H7 one of a page of several studies, and after a
// question mark the view: its tab, numbers, filter, text, pinned heads and colours.

export const TABS = ["do", "without", "small"];

const decoded = (hash) => {
  try {
    return decodeURIComponent(hash);
  } catch {
    return "";
  }
};

const findHead = (study, named) =>
  study?.heads.findIndex((each) => each[3].toLowerCase() === named.toLowerCase()) ?? -1;

// Numbers of the study and the head that a hash names, or null; without a study, that of the `current` one.
export function readAddress(hash, studies, current) {
  const parts = /^#(?:study-(\d+)\/)?([^?]+)/.exec(decoded(hash));
  if (!parts) return null;
  const study = parts[1] ? Number(parts[1]) - 1 : current;
  const head = findHead(studies[study], parts[2]);
  return head < 0 ? null : { study, head };
}

// The view that a hash asks for: what it does not name is as it is at first.
export function readView(hash, studies, current) {
  const named = /^#study-(\d+)(?:\/|\?|$)/.exec(hash);
  const study = named && studies[Number(named[1]) - 1] ? Number(named[1]) - 1 : current;
  const asked = new URLSearchParams(hash.includes("?") ? hash.slice(hash.indexOf("?") + 1) : "");
  const pins = (asked.get("pins") ?? "").split(",").map((name) => findHead(studies[study], name));
  return {
    study,
    tab: TABS.includes(asked.get("tab")) ? asked.get("tab") : null,
    by: asked.get("by"),
    against: asked.get("against"),
    kinds: (asked.get("only") ?? "")
      .split(",")
      .filter((one) => /^\d+$/.test(one))
      .map(Number),
    sure: asked.has("significant"),
    find: asked.get("find") ?? "",
    text: Number.parseInt(asked.get("text") ?? "1", 10) - 1 || 0,
    sort: asked.get("sort") ?? "",
    version: Math.max(0, Number.parseInt(asked.get("maps") ?? "1", 10) - 1 || 0),
    removed: /^\d+$/.test(asked.get("removed") ?? "") ? Number(asked.get("removed")) : null,
    shared: asked.get("shared"),
    pins: [...new Set(pins.filter((head) => head >= 0))].slice(0, 3),
    comparing: asked.has("compare"),
    theme: ["dark", "light"].includes(asked.get("theme")) ? asked.get("theme") : null,
  };
}

// `name`: of the open head, or nothing.
export function writeAddress(name, study, studies, view = {}) {
  const asked = [
    ["tab", view.tab],
    ["by", view.by],
    ["against", view.against === "" ? "nothing" : view.against],
    ["only", view.kinds?.join(",")],
    ["significant", view.sure ? "yes" : ""],
    ["find", view.find],
    ["text", view.text ? String(view.text + 1) : ""],
    ["sort", view.sort],
    ["maps", view.version ? String(view.version + 1) : ""],
    ["removed", view.removed === null || view.removed === undefined ? "" : String(view.removed)],
    ["shared", view.shared],
    ["pins", view.pins?.join(",")],
    ["compare", view.comparing ? "yes" : ""],
    ["theme", view.theme],
  ].filter(([, value]) => value);
  const words = asked.map(([key, value]) => `${key}=${encodeURIComponent(value).replaceAll("%2C", ",")}`).join("&");
  const where = studies > 1 && (name || words || study) ? `study-${study + 1}${name ? "/" : ""}` : "";
  return name || words || where ? `#${where}${name ?? ""}${words ? `?${words}` : ""}` : "";
}
