"""The figure of pairs: a dot at every interaction, in the colour of its kind."""

from __future__ import annotations

from pathlib import Path

import pytest

import headcount as hc
from tests import planted, planted_pairs


def test_the_numbers_of_the_study(tmp_path: Path) -> None:
    tokenizer, study = planted.tokenizer(tmp_path / "tokenizer"), tmp_path / "study"
    hc.sweep(planted_pairs.backups(), tokenizer, planted.texts(), task="sst2", by=hc.Pairs("L0H0, L1"), out=study)
    ax = hc.figure(study, "pairs", tmp_path / "pairs.svg").axes[0]
    assert (tmp_path / "pairs.svg").read_bytes().startswith(b"<?xml")
    assert ax.get_yticklabels()[0].get_text() == "L0H0 + L1H1"
    points = {str(line.get_label()): list(line.get_xdata()) for line in ax.lines}
    assert points["redundant"] == [-0.5]
    assert points["no significant interaction"] == [0, 0]
    assert "synergistic" not in points
    assert ax.get_xlabel().startswith("interaction in accuracy")


def test_the_loss_where_the_metric_shows_nothing(tmp_path: Path) -> None:
    """Few examples: no prediction flips often enough, but the loss shows it."""
    tokenizer, study = planted.tokenizer(tmp_path / "tokenizer"), tmp_path / "study"
    by = hc.Pairs("L0H0, L1H1")
    result = hc.sweep(planted_pairs.backups(), tokenizer, planted.texts(10), task="sst2", by=by, out=study)
    if float(result["q"][0]) < 0.05 or float(result["loss_q"][0]) >= 0.05:
        pytest.fail("the example does not show what it should")
    ax = hc.figure(study, "pairs").axes[0]
    assert ax.get_xlabel().startswith("interaction in the loss")
