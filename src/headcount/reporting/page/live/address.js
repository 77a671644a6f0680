// What was typed and switched off, as the address says it: a link brings it back.
import { findHeads, spellHeads } from "./heads.js";
import { fresh, switchOff } from "./selections.js";

// `state`: texts, selections, head, by, question, theme.
export function writeLink(model, state) {
  const asked = new URLSearchParams();
  if (!model.images) for (const text of state.texts) asked.append("text", text);
  for (const { heads, how, strength } of state.selections)
    if (heads.length) asked.append("off", [spellHeads(model, heads).replaceAll(", ", ","), how, strength].join("~"));
  if (state.head !== null) asked.set("head", model.heads[state.head][3]);
  if (state.by) asked.set("by", state.by);
  if (state.question) asked.set("question", String(state.question + 1));
  if (state.theme) asked.set("theme", state.theme);
  return `#${asked}`;
}

// The state that a hash asks for; what it does not name, or names wrongly, is as it is at first.
export function readLink(model, hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const texts = model.images ? [] : asked.getAll("text").slice(0, model.most_texts);
  const hows = model.replacements.filter(({ missing }) => !missing).map(({ how }) => how);
  let selections = [];
  for (const said of asked.getAll("off")) {
    const [names, how = "zero", strength = "1"] = said.split("~");
    const share = Number(strength);
    const one = { ...fresh(hows.includes(how) ? how : "zero"), strength: share >= 0 && share <= 1 ? share : 1 };
    selections = switchOff([...selections, one], selections.length, findHeads(model, names));
  }
  selections = selections.filter(({ heads }) => heads.length).slice(0, model.limits.selections);
  const [head] = findHeads(model, asked.get("head") ?? "");
  const question = Number.parseInt(asked.get("question") ?? "1", 10) - 1;
  return {
    texts: texts.length ? texts : null,
    selections: selections.length ? selections : [fresh()],
    head: head ?? null,
    by: asked.get("by") ?? "",
    question: Math.max(question || 0, 0),
    theme: ["dark", "light"].includes(asked.get("theme")) ? asked.get("theme") : null,
  };
}

// The token of the server, which the printed address has and a copied link has not.
export function takeToken(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const token = asked.get("token");
  asked.delete("token");
  const rest = String(asked);
  return { token, rest: rest ? `#${rest}` : "" };
}
