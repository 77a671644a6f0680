// The findings of a study, the results it lacks, and where its numbers come from.
import { h } from "./dom.js";

export const findings = (one) =>
  h(
    "section",
    { class: "findings" },
    h("h2", {}, "What was found"),
    one.findings.length
      ? one.findings.map(({ title, sentences }) => [
          h("h3", {}, title),
          h(
            "ul",
            {},
            sentences.map((sentence) => h("li", {}, sentence)),
          ),
        ])
      : h("p", {}, "This study has no complete result yet. The commands below compute some."),
  );

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
    "section",
    { class: "gaps" },
    h("h2", {}, "What this study does not show yet"),
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
