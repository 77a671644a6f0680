"""Sentences on patching: read from the numbers, held out where they were selected."""

from __future__ import annotations

from typing import Any

import pytest

import headcount as hc
from headcount.story.patches import patch_sentences
from headcount.story.sweeps import sweep_sentences
from tests import planted
from tests.ablation.test_shares import PAIRS


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_what_a_patch_says(tokenizer: Any) -> None:
    result = hc.sweep(planted.classifier(), tokenizer, PAIRS, task="sst2", how="patch")
    inputs, counted, best = patch_sentences(result)
    assert inputs.startswith("On the clean input log_probability is -")
    assert "], on the corrupted one -" in inputs
    assert inputs.endswith("(40 pairs).")
    assert counted == (
        "Each head in turn runs on the corrupted input with its output from the clean one: 1 brings the score closer "
        "to that of the clean input, 0 further away (q < 0.05, 4 tested)."
    )
    assert best.startswith("L0H0 brings back most of the difference: a share of 1.00 on the pairs that selected it;")
    assert best.endswith("evaluated on the other, 1.00 on average of the splits.")
    assert sweep_sentences(result) == [inputs, counted, best]


def test_the_other_direction_and_a_part(tokenizer: Any) -> None:
    how = hc.Patch(direction="noise", part="weights", positions="last")
    result = hc.sweep(planted.classifier(), tokenizer, PAIRS, task="sst2", how=how)
    counted = patch_sentences(result)[1]
    assert counted == (
        "Each head in turn runs on the clean input with its attention map from the corrupted one, at the last token of "
        "the prompt: none changes the score significantly (q < 0.05, 4 tested)."
    )
