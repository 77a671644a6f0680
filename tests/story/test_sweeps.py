"""The sentences say what the numbers say."""

from __future__ import annotations

from pathlib import Path

import headcount as hc
from headcount.story.sweeps import sweep_sentences
from tests import planted


def test_sentences(tmp_path: Path) -> None:
    result = hc.sweep(planted.classifier(), planted.tokenizer(tmp_path), planted.texts(), task="sst2", how="zero")
    sentences = sweep_sentences(result)
    assert sentences[0].startswith("Baseline accuracy 0.7000")
    assert sentences[1] == (
        "2 heads have a significant effect on accuracy (q < 0.05, 4 heads tested): "
        "worse without 1 of them, better without 1."
    )
    assert sentences[2].startswith("2 heads have a significant effect on the mean loss (q < 0.05, 4 heads tested)")
    assert sentences[2].endswith("2 heads shift the losses in one direction (signed ranks, q < 0.05).")
    assert "The best head to ablate is L0H1: +0.3000" in sentences[-1]
    assert "in 95 % of the splits)" in sentences[-1], (
        "what an interval is, is said where it is no interval of confidence"
    )


def test_no_effect_is_said_as_such(tmp_path: Path) -> None:
    few = planted.texts(10)
    found = hc.sweep(planted.classifier(), planted.tokenizer(tmp_path), few, task="sst2", how="zero", metric="loss")
    sentences = sweep_sentences(found)
    assert sentences[1] == "No head has a significant effect on loss (q < 0.05, 4 heads tested)."
    assert not any("mean loss" in one for one in sentences), "the loss stands beside other metrics, not beside itself"
