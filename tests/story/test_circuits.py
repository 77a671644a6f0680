"""Sentences on circuits say what their numbers allow."""

from __future__ import annotations

from typing import Any

import pytest
import xarray as xr

import headcount as hc
from headcount.story.circuits import COLUMNS, circuit_rows, circuit_sentences
from tests import planted
from tests.choosing import planted_pair


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return planted_pair.classifier(), planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def found(both: tuple[Any, Any]) -> xr.Dataset:
    return hc.circuit(*both, planted_pair.texts(), task="sst2", how="zero", randoms=2)


def test_the_planted_circuit(found: xr.Dataset) -> None:
    lines = circuit_sentences(found)
    assert lines[0].startswith("The circuit has 2 of 4 heads, all others at zero: the smallest set found within 5 %")
    assert "faithfulness 1.000 [1.000, 1.000]" in lines[1]
    assert "is confirmed by the held-out examples" in lines[2]
    assert "mean faithfulness of 0.000" in lines[3]
    assert "circuit and model are not shown to differ" in lines[5]
    assert lines[6].startswith("Minimality: 2 of its 2 heads are needed")
    rows = circuit_rows(found)
    assert {row[0] for row in rows} == {"L0H0", "L1H1"}
    assert all(len(row) == len(COLUMNS) for row in rows)


def test_a_loss_that_rises(found: xr.Dataset) -> None:
    for higher, change in ((True, "-0.250"), (False, "+0.250")):
        other = found.copy()
        other.attrs = {**found.attrs, "higher_is_better": higher}
        other["random_minimality"] = found["random_minimality"] * 0 + 0.25  # how much is lost
        assert f"changes it by {change} on average" in circuit_sentences(other)[6]


def test_nothing_is_claimed_without_evidence(found: xr.Dataset) -> None:
    unclear = found.copy()
    unclear.attrs = {**found.attrs, "verdict": "too few examples to tell", "settled": False}
    unclear["minimality_q"] = found["minimality_q"] * 0 + 1
    unclear["beyond_random_low"] = found["beyond_random_low"] * 0 - 1
    lines = " ".join(circuit_sentences(unclear))
    assert "Too few held-out examples to tell" in lines
    assert "not shown to differ from that of the circuit" in lines
    assert "Minimality: 0 of its 2 heads are needed" in lines
    assert "more passes may drop more" in lines
    without_share = found.copy()
    without_share["faithfulness"] = found["faithfulness"] * float("nan")
    assert "do not differ enough for a share" in " ".join(circuit_sentences(without_share))
    everything = found.copy()
    everything.attrs = {**found.attrs, "size": 4}
    assert circuit_sentences(everything)[0].startswith("No set of fewer than all 4 heads is shown to keep accuracy")
