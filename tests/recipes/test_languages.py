"""The recipe of languages, small: multiword tokens and word order of a treebank, offsets, and the table of a model."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from recipes.languages import heads, offsets
from recipes.languages.treebanks import MULTIWORD, read_treebank, split_by_order

from tests.measures.planted import planted_attention
from tests.probing.treebank import sentences


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    folder = tmp_path / "UD_Made-Up"
    folder.mkdir()
    table = sentences(240)
    table["sent_id"] = [f"s{number}" for number in range(len(table))]
    table.to_parquet(folder / "test.parquet")
    multiword = pd.DataFrame(
        [("UD_Made-Up", "test", "s1", 1, 2, "du"), ("UD_Other", "test", "s0", 1, 2, "au")],
        columns=["treebank", "split", "sent_id", "first", "last", "form"],
    )
    multiword.to_parquet(tmp_path / MULTIWORD)
    return folder


def test_multiword_tokens_of_this_treebank(treebank: Path) -> None:
    table = read_treebank(treebank)
    assert table["multiword"][1] == [[1, 2, "du"]]
    assert not table["multiword"][0]


def test_a_relation_by_the_order_of_its_words() -> None:
    table = pd.DataFrame({"heads": [[2, 0, 2]], "deprels": [["obj", "root", "obj:lvc"]]})
    assert split_by_order(table, "obj")["deprels"][0] == ["obj:before", "root", "obj:after"]


def test_offsets(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A determiner's noun stands anywhere, so that no offset finds many."""
    found = offsets.offsets_of(treebank, "test", ["all", "det"])
    assert set(found) == {"all", "det"}
    assert found["det"][0] < 0.3
    offsets.main([str(treebank), "--relations", "det"])
    assert "UD_Made-Up" in capsys.readouterr().out


def test_heads(treebank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, tokenizer = planted_attention()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    heads.main([f"{tmp_path / 'model'}={treebank}", "--out", str(tmp_path / "studies")])
    shown = capsys.readouterr().out
    assert "| det | " in shown
    assert "L0H3 ->" in shown
    assert "the best head of obj, on all sentences: obj" in shown
    assert "obj:before" in shown
