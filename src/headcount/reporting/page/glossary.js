// Words of the field, explained where they stand: a dotted line below the word, its meaning when it is pointed at.
import { h } from "./dom.js";

export const TERMS = {
  attention: "How much a token takes from each other token: weights from 0 to 1 that sum to 1.",
  head: "One of the parallel attention units of a layer: it has weights of its own and can be taken out.",
  "[SEP]": "A token that marks the end of a text in BERT; heads with nothing to do often look at it.",
  "[CLS]": "The first token in BERT, whose output a classifier reads.",
  entropy: "How spread the attention is, in nats: 0 if all of it goes to one token.",
  q: "The p-value corrected for all heads tested: of all that are called significant, about 5 % are so by chance.",
  induction: "Looking at what followed an earlier occurrence of the same token.",
  baseline: "The score of the whole model, with every head.",
  diagonal: "A map in which tokens look at themselves or at their neighbours.",
  vertical: "A map in which all tokens look at the same few tokens.",
  heterogeneous: "A map without a simple shape.",
  block: "A map in which tokens look within their own text.",
  strength: "How far a head has a role: 0 is chance for these texts, 1 a head that does nothing else.",
  uniform: "Attention that is the same for all tokens: what a head is often replaced by.",
  importance: "How much the loss would change with the head's output, from the slope of the loss.",
  "held-out": "Examples that took no part in the selection.",
};

const ESCAPED = Object.keys(TERMS)
  .sort((a, b) => b.length - a.length)
  .map((term) => term.replace(/[[\]]/g, "\\$&"));
const PATTERN = new RegExp(`(?<![\\w[-])(?:${ESCAPED.join("|")})(?![\\w\\]-])`, "gi");

// A text with the first occurrence of each term marked.
export function explained(text) {
  const parts = [];
  const seen = new Set();
  let end = 0;
  for (const found of text.matchAll(PATTERN)) {
    const term = Object.keys(TERMS).find((one) => one.toLowerCase() === found[0].toLowerCase());
    if (!term || seen.has(term) || (term === "q" && found[0] !== "q")) continue;
    seen.add(term);
    parts.push(text.slice(end, found.index), h("span", { class: "term", title: TERMS[term] }, found[0]));
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}

export const glossary = () =>
  h(
    "details",
    { class: "folded" },
    h("summary", {}, "Words used on this page"),
    h(
      "dl",
      { class: "glossary" },
      Object.entries(TERMS).flatMap(([term, meaning]) => [h("dt", {}, term), h("dd", {}, meaning)]),
    ),
  );
