"""Sentences on heads that carry cues say what their intervals allow."""

from __future__ import annotations

import pytest
import xarray as xr

import headcount as hc
from headcount.story.cue_heads import COLUMNS, cue_head_rows, cue_head_sentences
from tests import planted
from tests.statistical_cues import planted_cue


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    tokenizer = planted.tokenizer(tmp_path_factory.mktemp("words"))
    return hc.cue_heads(planted.classifier(), tokenizer, planted_cue.texts(), task="sst2", cue=planted_cue.CUES)


def test_the_planted_head(found: xr.Dataset) -> None:
    lines = " ".join(cue_head_sentences(found))
    assert 'Cues ("up", "down") point to the right label in 120 examples and to a wrong one in 40.' in lines
    assert "relies on cues" in lines
    assert "Without 1 of 4 heads the model relies on cues significantly less (q < 0.05), without 0 more." in lines
    assert "too small for a comparison" in lines, "the cue always wins: nothing is left beside it"
    assert "reliance on cues falls on the other half" in lines
    assert "that is less" in lines
    rows = cue_head_rows(found, 2)
    assert rows[0][0] == "L0H1"
    assert len(rows[0]) == len(COLUMNS)
    assert float(rows[0][3]) == 0 < float(rows[0][4])


def test_nothing_is_claimed_without_evidence(found: xr.Dataset) -> None:
    """Intervals that contain zero, and no significant head."""
    unclear = found.copy()
    unclear["cue_effect_q"] = found["cue_effect_q"] * 0 + 1
    for name in ("reliance", "reliance_change", "reliance_gain", "accuracy_change"):
        unclear[f"{name}_low"] = found[f"{name}_low"] * 0 - 1
        unclear[f"{name}_high"] = found[f"{name}_high"] * 0 + 1
    lines = " ".join(cue_head_sentences(unclear))
    assert "is not shown to rely on cues" in lines
    assert "No head is shown to carry cues" in lines
    assert "is not shown to change on the other half" in lines
    assert "not shown to differ" in lines
    assert "Accuracy is not shown to change" in lines


def test_a_head_that_looks_at_cues(found: xr.Dataset) -> None:
    assert "No head is shown to give cue words more attention" in " ".join(cue_head_sentences(found))
    looking = found.copy(deep=True)
    for name in ("attention", "gain", "gain_low"):
        looking[name][0, 1, 0] = 0.5
    assert "L1H0 looks at cue words most: 0.500 of its attention" in " ".join(cue_head_sentences(looking))
