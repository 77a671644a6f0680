"""The sentences on pairs say what the numbers say."""

from __future__ import annotations

from pathlib import Path

import headcount as hc
from headcount.story.pairs import pair_sentences
from tests import planted, planted_pairs


def test_sentences(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path)
    redundant = hc.sweep(planted_pairs.backups(), tokenizer, planted.texts(), task="sst2", by=hc.Pairs("all"))
    said = pair_sentences(redundant)
    assert said[0].startswith("Baseline accuracy 1.000 [")
    assert said[1] == (
        "1 pair interacts significantly in accuracy (q < 0.05, 6 pairs tested): 1 redundant (worse without both heads "
        "than the sum of the two effects says), 0 synergistic (better than the sum says)."
    )
    assert said[2] == (
        "The largest redundant one is L0H0 + L1H1: accuracy changes by -0.5000 without both, by +0.0000 without L0H0 "
        "and by +0.0000 without L1H1."
    )
    assert said[3].startswith("The strongest interaction, that of L0H0 + L1H1, has a size of 0.5000 on the examples")
    assert "significantly in the loss" in said[4]
    synergistic = hc.sweep(planted_pairs.chain(), tokenizer, planted.texts(), task="sst2", by=hc.Pairs("all"))
    assert "0 redundant" in pair_sentences(synergistic)[1]
    assert "The largest synergistic one is L0H0 + L1H1" in pair_sentences(synergistic)[2]


def test_what_was_selected_how(tmp_path: Path) -> None:
    tokenizer, model, texts = planted.tokenizer(tmp_path), planted_pairs.backups(), planted.texts(20)
    ranked = hc.screen(model, tokenizer, texts, task="sst2", top=2, control=0)
    said = pair_sentences(hc.sweep(model, tokenizer, texts, task="sst2", by=hc.Pairs(ranked)))
    assert said[1].startswith("All pairs of the 2 of 4 heads that rank highest by importance on the same examples")
    assert "Heads that matter only together may rank low." in said[1]
    assert "(q < 0.05, 1 pair tested of 6)" in " ".join(said)
