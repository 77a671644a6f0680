"""The sentences say what the numbers say."""

from __future__ import annotations

from pathlib import Path

import headcount as hc
from headcount.core.story import tell_sweep
from tests import planted


def test_sentences(tmp_path: Path) -> None:
    result = hc.sweep(planted.classifier(), planted.tokenizer(tmp_path), planted.texts(), task="sst2", how="zero")
    sentences = tell_sweep(result)
    assert sentences[0].startswith("Baseline accuracy 0.7000")
    assert "2 of 4 heads change the score for sure (q < 0.05): 1 are needed, 1 hurt." in sentences
    assert "Without L0H1 the gain is +0.3000" in sentences[-1]
