"""Sentences on heads with high scores say what their intervals allow."""

from __future__ import annotations

import pytest
import xarray as xr

import headcount as hc
from headcount.story.carriers import COLUMNS, carrier_rows, carrier_sentences
from tests.measures.planted_decoder import planted_decoder


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    return hc.carriers(*planted_decoder(), "synthetic:repeat,length=8", top=2, randoms=2, limit=40)


def test_what_the_planted_heads_carry(found: xr.Dataset) -> None:
    lines = carrier_sentences(found)
    assert lines[0].startswith("Without the 2 heads that score highest in induction on 20 texts, the loss on 20 other")
    assert " rises: from " in lines[0]
    assert "more than that" in lines[1]
    assert all(len(row) == len(COLUMNS) for row in carrier_rows(found))


def test_nothing_is_claimed_without_evidence(found: xr.Dataset) -> None:
    unclear = found.copy()
    for name in ("together", "beyond_random"):
        unclear[f"{name}_low"], unclear[f"{name}_high"] = found[f"{name}_low"] * 0 - 1, found[f"{name}_high"] * 0 + 1
    unclear["single_q"] = found["single_q"] * 0 + 1
    lines = " ".join(carrier_sentences(unclear))
    assert "is not shown to change" in lines
    assert "not shown to differ from that" in lines
    assert "0 of the 2 raise the loss significantly" in lines
