"""`hc.carriers`: the planted induction head carries the second copy; statistics against a naive loop; bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.errors import InvalidOption
from tests.measures.planted_decoder import ROLES, planted_decoder

TEXTS = "synthetic:repeat,length=8"


@pytest.fixture(scope="module")
def decoder() -> tuple[Any, Any]:
    return planted_decoder()


def test_the_planted_induction_head_carries_the_copy(decoder: tuple[Any, Any]) -> None:
    found = hc.carriers(*decoder, TEXTS, measure="induction", top=1, randoms=4, limit=60)
    assert found["top_head"].values.tolist() == [ROLES["induction"]]
    assert float(found["top_score"][0]) > 0.9
    assert float(found["together_low"]) > 0
    assert float(found["beyond_random_low"]) > 0
    assert float(found["together"]) == pytest.approx(float(found["single"][0]))
    assert found.attrs["selecting"] + found.attrs["examples"] == 60


def test_losses_by_hand(decoder: tuple[Any, Any]) -> None:
    """The same sets through `sweep`, on the texts that did not select them."""
    found = hc.carriers(*decoder, TEXTS, measure="duplicate", top=2, randoms=3, limit=40, how="uniform")
    table = hc.Synthetic("repeat", length=8).read(decoder[1], 40, 0)
    second = np.sort(np.random.default_rng(0).permutation(40)[20:])
    heads = ",".join(found["top_head"].values)
    swept = hc.sweep(*decoder, table.iloc[second], task="completion", by=[heads], how="uniform")
    assert float(found["together"]) == pytest.approx(float(swept["delta"][0]), abs=1e-6)
    assert float(found["baseline"]) == pytest.approx(float(swept["baseline"]), abs=1e-6)
    assert float(found["random"]) == pytest.approx(found["random_set"].values.mean(), abs=1e-9)
    assert float(found["beyond_random"]) == pytest.approx(float(found["together"] - found["random"]), abs=1e-6)


def test_bad_input(decoder: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidOption, match=r"top=99 .*half of those"):
        hc.carriers(*decoder, TEXTS, top=99)
    with pytest.raises(InvalidOption, match="'induct'"):
        hc.carriers(*decoder, TEXTS, measure="induct")
    with pytest.raises(InvalidOption, match="sst2; expected one with a loss"):
        hc.carriers(*decoder, "texts.csv", task="sst2")
