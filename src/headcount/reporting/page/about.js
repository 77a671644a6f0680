// What the study found, what it does not have yet, and where its numbers come from.
import { h } from "./dom.js";

export const findings = (one) =>
  h(
    "section",
    { class: "findings" },
    h("h2", {}, "What was found"),
    one.sentences.length
      ? h(
          "ul",
          {},
          one.sentences.map((sentence) => h("li", {}, sentence)),
        )
      : h("p", {}, "This study has no complete result yet. The commands below fill it."),
  );

export function gaps(one) {
  const unfinished = one.unfinished.length
    ? h(
        "p",
        {},
        `Not finished, and so not shown: ${one.unfinished.join(", ")}. ` +
          "The command that began them goes on where it stopped.",
      )
    : null;
  if (!one.gaps.length && !unfinished) return null;
  return h(
    "section",
    { class: "gaps" },
    h("h2", {}, "What this study could still tell"),
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
    { class: "made" },
    h("summary", {}, "Where the numbers come from"),
    h(
      "p",
      { class: "caption" },
      `headcount ${version}, study ${one.name}. Intervals hold 95 %; ` +
        "q is the false discovery rate over all heads of a sweep (Benjamini and Hochberg).",
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
            ["result", "model", "task", "device", "versions"].map((name) => h("th", {}, name)),
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
