"""A source of synthetic texts, added as docs/architecture.md says: a class and an entry in the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.data.synthetic.contract import Source, number
from headcount.data.synthetic.source import SOURCES
from headcount.errors import InvalidOption
from tests.data.kinds.test_completion import decoder, naive
from tests.data.synthetic.tokenizers import make


@dataclass(frozen=True)
class Counting(Source):
    """A word, repeated `times` times, and once more."""

    name = "counting"
    summary = "one word, again and again"

    times: int = number(3, 2)

    def table(self, tokenizer: Any, count: int, seed: int) -> pd.DataFrame:
        words = np.random.default_rng(seed).choice(["yeast", "dough", "flour"], count)
        return pd.DataFrame({"prompt": [" ".join([word] * self.times) for word in words], "completion": " " + words})


def test_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(SOURCES, "counting", Counting)
    model, tokenizer = decoder(), make("bpe")
    swept = hc.sweep(model, tokenizer, "synthetic:counting,times=4", limit=5, by="layer")
    table = hc.Synthetic("counting", times=4).read(tokenizer, 5, 0)
    losses = [loss for row in table.itertuples() for loss in naive(model, tokenizer, row.prompt, row.completion)[0]]
    np.testing.assert_allclose(float(swept["baseline"]), np.mean(losses))
    with pytest.raises(InvalidOption, match="got '1' for 'times' in .*; expected a whole number of at least 2"):
        hc.sweep(model, tokenizer, "synthetic:counting,times=1")
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    command = ["measure", str(tmp_path / "model"), "--only", "entropy", "--limit", "3", "--data"]
    assert main([*command, "synthetic:counting"]) == 0
    assert main([*command, "synthetic:counts"]) == 2
    assert "repeat, needle, names, agreement, few-shot, counting" in capsys.readouterr().err
