"""Sentences on antecedents say what their intervals allow, and what was left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.story.coreference import antecedent_rows, antecedent_sentences


def probed(gains: dict[str, tuple[float, float, float]], stack: str = "encoder", **attributes: Any) -> xr.Dataset:
    """A result in which L5H4 has these gains above the same head word, which is right in half of the cases."""
    names = list(gains)
    columns = np.array(list(gains.values())).T
    relation = ("relation",)
    many = len(names)
    return xr.Dataset(
        {
            "best_head": (relation, np.array(["L5H4"] * many, dtype=object)),
            "best_direction": (relation, np.array(["mention to antecedent"] * many, dtype=object)),
            "best_baseline": (relation, np.array(["head_match"] * many, dtype=object)),
            "held_out_cases": (relation, np.full(many, 40)),
            "best_accuracy": (relation, columns[0] + 0.5),
            **{
                f"baseline_{name}": (relation, np.full(many, share))
                for name, share in (("nearest", 0.3), ("head_match", 0.5), ("rules", 0.69))
            },
            **{f"gain{end}": (relation, column) for end, column in zip(("", "_low", "_high"), columns, strict=True)},
        },
        {"relation": names, "direction": ["mention to antecedent", "antecedent to mention"], "stack": [stack]},
        attributes,
    )


FOUND = {"all": (0.15, 0.1, 0.2), "pronoun": (0.2, 0.1, 0.3), "proper": (0.1, 0.05, 0.2), "nominal": (0.1, -0.1, 0.2)}


def test_rows() -> None:
    rows = antecedent_rows(probed(FOUND))
    assert rows[0] == ("all", "40", "L5H4 ->", "0.650", "0.300", "0.500", "0.690", "")
    assert [row[0] for row in rows] == list(FOUND)


def test_a_kind_that_could_not_be_evaluated_has_no_row() -> None:
    result = probed(FOUND)
    result["best_accuracy"][3] = np.nan
    assert [row[0] for row in antecedent_rows(result)] == ["all", "pronoun", "proper"]


def test_only_what_its_interval_shows() -> None:
    first, second, third = antecedent_sentences(probed(FOUND))
    assert first == "L5H4 finds an antecedent of 65.0% of the mentions, the same head word 50.0%: more."
    assert second.endswith("finds one of 69.0%.")
    assert third.startswith("For pronoun and proper mentions a head is shown to be right more often")
    unsure = antecedent_sentences(probed({"all": (0.15, -0.1, 0.2), "nominal": (0.1, -0.1, 0.2)}))
    assert unsure[0].endswith("too few documents to tell which is more.")
    assert unsure[2].startswith("For no kind of mention is a head shown")


def test_what_was_left_out_is_said() -> None:
    lost = {"without a token": 3, "sharing a token": 0, "mentions far away": 1200, "mentions cut": 0}
    lines = antecedent_sentences(probed(FOUND, stack="decoder", lost=lost))
    assert lines[3].endswith("attention from antecedent to mention is left out.")
    assert lines[4:] == ["Left out (1,200): mentions far away.", "3 words are left out: without a token."]


def test_nothing_could_be_evaluated() -> None:
    result = probed(FOUND)
    result["best_accuracy"][0] = np.nan
    assert antecedent_sentences(result) == [
        "One half of the documents has no mention with an antecedent: nothing could be evaluated."
    ]
