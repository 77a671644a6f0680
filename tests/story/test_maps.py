"""What a study holds of a text's maps, in a line that can be followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from headcount.story.maps import maps_sentences


def maps(**attributes: Any) -> xr.Dataset:
    present = {"present_encoder": (("layer", "head"), np.array([[1, 1, 0], [1, 0, 0]]))}
    said = {"tokens_cut": 0, "max_length": 8, "identity": {"lengths": [5, 7]}}
    return xr.Dataset(present, attrs=said | attributes)


@pytest.mark.parametrize(
    ("size", "spelled"), [(1, "1 kB"), (1001, "2 kB"), (99_999, "100 kB"), (100_000, "0.1 MB"), (2_460_000, "2.5 MB")]
)
def test_what_was_saved(size: int, spelled: str) -> None:
    assert maps_sentences(maps(), "maps/mine", size, True, Path("study")) == [
        f"Saved maps/mine in study: the maps of 3 heads over 5 and 7 tokens, {spelled}. "  # noqa: ISC004
        'Read it with headcount.open_study("study")["maps/mine"].'
    ]


def test_what_was_there_already() -> None:
    (line,) = maps_sentences(maps(), "maps/mine", 10, False, Path("study"))
    assert line.startswith("study has maps/mine already, nothing was done: ")


def test_a_text_that_was_cut() -> None:
    cut, _ = maps_sentences(maps(tokens_cut=1234), "maps/mine", 10, True, Path("study"))
    assert cut == "The text was longer than 8 tokens and was truncated: 1,234 tokens were left out."
