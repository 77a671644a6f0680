"""Agreement between two sweeps of a study."""

from __future__ import annotations

from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from tests import planted


def test_two_halves_of_the_texts_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer, out = planted.tokenizer(tmp_path / "tokenizer"), tmp_path / "study"
    texts = planted.texts()
    hc.sweep(planted.classifier(), tokenizer, texts.head(60), task="sst2", how="zero", out=out, name="first")
    assert main(["agreement", str(out)]) == 2
    assert "no two complete sweeps" in capsys.readouterr().err
    hc.sweep(planted.classifier(), tokenizer, texts.tail(60), task="sst2", how="zero", out=out, name="second")
    assert main(["agreement", str(out)]) == 0
    assert "+1.00" in capsys.readouterr().out
