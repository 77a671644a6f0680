// The findings of a study, the results it lacks, and where its numbers come from.
import { h } from "./dom.js";
import { explained } from "./glossary.js";

export function findings(one) {
  const found = one.findings.filter(({ sentences }) => sentences.length);
  const count = found.reduce((sum, { sentences }) => sum + sentences.length, 0);
  if (!count && one.maps.length) return null;
  if (!count)
    return h(
      "section",
      { class: "findings" },
      h("p", {}, "This study has no complete result yet. The commands below compute some."),
    );
  return h(
    "details",
    { class: "findings folded" },
    h("summary", {}, count === 1 ? "One finding with its interval" : `All ${count} findings with their intervals`),
    found.map(({ title, sentences }) => [
      title ? h("h3", {}, title) : null,
      h(
        "ul",
        {},
        sentences.map((sentence) => h("li", {}, explained(sentence))),
      ),
    ]),
  );
}

export function gaps(one) {
  const unfinished = one.unfinished.length
    ? h(
        "p",
        {},
        `Not finished and therefore not shown: ${one.unfinished.join(", ")}. ` +
          "Run the same command again to resume.",
      )
    : null;
  if (!one.gaps.length && !unfinished) return null;
  return h(
    "details",
    { class: "gaps folded" },
    h("summary", {}, `What this study does not show yet (${one.gaps.length})`),
    unfinished,
    h(
      "dl",
      {},
      one.gaps.flatMap((gap) => [h("dt", {}, gap.what), h("dd", {}, h("code", {}, gap.command))]),
    ),
  );
}

export const provenance = (one, version) =>
  h(
    "details",
    { class: "made folded" },
    h("summary", {}, "Where the numbers come from"),
    h(
      "p",
      { class: "caption" },
      `headcount ${version}, study ${one.name}. Intervals are 95 % intervals; ` +
        "q is the p-value corrected for all heads of a sweep (Benjamini and Hochberg).",
    ),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["result", "model", "task", "device", "versions"].map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          one.provenance.map((row) =>
            h(
              "tr",
              {},
              row.map((cell) => h("td", {}, cell)),
            ),
          ),
        ),
      ),
    ),
  );
