"""Sentences on relations say what their intervals allow, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.story.relations import relation_rows, relation_sentences


def probed(gains: dict[str, tuple[float, float, float]], stack: str = "encoder", **attributes: Any) -> xr.Dataset:
    """A result in which L0H1 has these gains above the best offset."""
    names = list(gains)
    columns = np.array(list(gains.values())).T
    relation = ("relation",)
    heads = np.array([[[columns[0].max(), np.nan]]])
    return xr.Dataset(
        {
            "best_head": (relation, np.array(["L0H1"] * len(names), dtype=object)),
            "best_direction": (relation, np.array(["head to dependent"] * len(names), dtype=object)),
            "best_offset": (relation, np.full(len(names), -1)),
            "best_accuracy": (relation, columns[0] + 0.3),
            "baseline_offset": (relation, np.full(len(names), 0.3)),
            **{
                f"gain{ending}": (relation, column)
                for ending, column in zip(("", "_low", "_high"), columns, strict=True)
            },
            "relation_gain": (("stack", "layer", "head"), heads),
            "relation_gain_low": (("stack", "layer", "head"), heads - 0.1),
        },
        {"relation": names, "direction": ["dependent to head", "head to dependent"], "stack": [stack]},
        attributes,
    )


FOUND = {"all": (0.2, 0.1, 0.3), "nsubj": (0.4, 0.2, 0.5), "obj": (0.05, -0.1, 0.2)}


def test_rows_with_the_largest_gain_first() -> None:
    rows = relation_rows(probed(FOUND))
    assert [row[0] for row in rows] == ["nsubj", "all", "obj"]
    assert rows[0] == ("nsubj", "L0H1 <-", "0.700", "0.300 (-1)", "+0.400 [+0.200, +0.500]", "")


def test_only_what_its_interval_shows() -> None:
    first, second, third = relation_sentences(probed(FOUND))
    assert first == "L0H1 finds the syntactic head of 50.0% of the words, the best offset 30.0%: more."
    assert second.startswith("For 1 of 2 relations a head is shown to beat every fixed offset")
    assert third.startswith("1 of 1 heads are shown")
    unsure = relation_sentences(probed({"all": (0.1, -0.1, 0.2), "obj": (0.05, -0.1, 0.2)}))
    assert unsure[0].endswith("too few sentences to tell which is more.")
    assert unsure[1].startswith("For 0 of 1")
    assert unsure[2].startswith("0 of 1 heads")
    assert relation_sentences(probed({"all": (-0.2, -0.3, -0.1), "obj": (0.05, -0.1, 0.2)}))[0].endswith("fewer.")


def test_without_single_relations_nothing_is_counted() -> None:
    lines = relation_sentences(probed({"all": (0.2, 0.1, 0.3)}, lost={"without a token": 3}))
    assert "give more sentences, or name relations" in lines[1]
    assert lines[2:] == ["3 words are left out: without a token."]


def test_what_was_lost_is_said() -> None:
    lines = relation_sentences(probed(FOUND, lost={"without a token": 3, "sharing a token": 0}, cut=2))
    assert "3 words are left out: without a token." in lines
    assert not any("sharing" in line for line in lines)
    assert "2 texts were longer than the model takes and were cut." in lines
    assert "1 word is left out: sharing a token." in relation_sentences(probed(FOUND, lost={"sharing a token": 1}))


def test_of_a_causal_model_only_the_words_that_were_asked_for() -> None:
    first, second, *_ = relation_sentences(probed(FOUND, stack="decoder"))
    assert first.startswith("L0H1 finds the syntactic head of 50.0% of the words whose head comes after them, the best")
    assert second.startswith("This model's words see only those before them")


def test_a_half_without_dependencies() -> None:
    nothing = (np.nan, np.nan, np.nan)
    lines = relation_sentences(probed({"all": nothing, "obj": nothing}))
    assert lines[0].startswith("One half of the sentences has no dependencies")
    assert not any("nan" in line for line in lines)


def test_no_interval_is_said() -> None:
    rows = relation_rows(probed({"all": (0.2, np.nan, np.nan), "obj": (0.1, 0.0, 0.2)}))
    assert rows[0][4] == "+0.200, no interval"
