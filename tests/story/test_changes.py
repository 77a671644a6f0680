"""What changed between two models, on results made by hand whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.story.changes import change_sentences, changed_rows
from tests.story.trees import NAN, TWO, dataset


def compared(maps: Any, stacks: str = "encoder") -> xr.Dataset:
    """A comparison of two texts, 0.05 below and above the cosines."""
    one = dataset(stacks, maps=maps)
    return one.assign(values_maps=xr.concat([one["maps"] - 0.05, one["maps"] + 0.05], "example"))


def test_changes() -> None:
    """A layer and a head with their intervals, each beside the median one."""
    layer, head = change_sentences(compared([[[0.9, 0.8], [0.3, 0.7], [1.0, 1.0], [0.6, 0.2]]]))
    assert layer.startswith(
        "The maps of L3 differ most: mean cosine 0.400 [0.350, 0.450] (1 is identical), against 0.675"
    )
    assert head == "The maps of L3H1 differ most: 0.20 [0.10, 0.40], against 0.750 for the median head."


def test_changes_where_heads_are_absent() -> None:
    """A head that is not there has not changed, and does not count in the mean of its layer."""
    lines = change_sentences(compared([[[0.9, NAN], [0.7, 0.1], [0.8, 0.6]]]))
    assert lines[0].startswith("The maps of L1 differ most: mean cosine 0.400 [")
    assert lines[0].endswith("against 0.700 for the median layer.")
    assert lines[1].endswith("L1H1 differ most: 0.10 [0.00, 0.30], against 0.700 for the median head.")


def test_changes_of_several_stacks() -> None:
    lines = change_sentences(compared([[[0.9, 0.8], [0.5, 0.7]], [[0.2, 0.4], [1.0, 1.0]]], "encoder cross"))
    assert len(lines) == 4
    assert lines[0].startswith("The maps of encoder.L1 differ most: mean cosine 0.600 [")
    assert "encoder.L1H0 differ most: 0.50 [0.40, 0.70]" in lines[1]
    assert lines[2].startswith("The maps of cross.L0 differ most: mean cosine 0.300 [")
    assert "cross.L0H0 differ most: 0.20 [0.10, 0.40]" in lines[3]


def test_layers_that_a_stack_does_not_have_have_not_changed() -> None:
    maps = [[[0.9], [0.8], [0.7]], [[0.6], [0.5], [NAN]]]
    assert "nan" not in " ".join(change_sentences(compared(maps, "encoder decoder")))


def test_changed_rows() -> None:
    link = ["verb to subject", "pronoun to noun"]
    results = {
        "cosine": dataset(maps=[[[0.9, 0.8]]]),
        "position": dataset(previous=[[[0.3, 0.05, -0.15, -0.7, NAN, 0.11]]]),  # low > 0: two; high < 0: one
        "links": dataset(extra={"link": link}, gain=[[[[0.5, -0.5], [0.4, -0.6]]]]),
    }
    assert changed_rows(results) == [
        ("position: previous", "2", "1", "L0H0 +0.300", "L0H3 -0.700"),
        ("links: gain verb to subject", "2", "0", "L0H0 +0.500", "L0H1 +0.400"),
        ("links: gain pronoun to noun", "0", "2", "L0H0 -0.500", "L0H1 -0.600"),
    ]


def test_changed_rows_of_several_stacks() -> None:
    rows = changed_rows({"special": dataset("encoder cross", cls=TWO, sep=-np.array(TWO))})
    assert rows == [
        ("special: sep", "0", "3", "encoder.L0H0 -0.100", "cross.L0H1 -0.900"),
        ("special: cls", "4", "0", "cross.L0H1 +0.900", "encoder.L0H0 +0.100"),
    ]


def test_an_interval_that_ends_at_0_is_no_change() -> None:
    entropy = dataset(entropy=[[[0.1, -0.2, 0.0]]], entropy_low=[[[0.0, -0.3, 0.0]]], entropy_high=[[[0.2, 0.0, 0.0]]])
    assert changed_rows({"entropy": entropy}) == [("entropy: entropy", "0", "0", "L0H0 +0.100", "L0H1 -0.200")]


def test_what_no_text_answers_is_no_row() -> None:
    results = {"repeated": dataset(gain=[[[NAN, NAN]]]), "entropy": dataset(entropy=[[[0.5, 0.4]]])}
    assert [row[0] for row in changed_rows(results)] == ["entropy: entropy"]
