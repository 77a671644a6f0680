"""Does the recipe for a translation model run from pairs of sentences to translations of every checkpoint?"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from recipes.translation.train import main, make_start, make_tokenizer

import headcount as hc
from headcount.errors import ModelUnavailable
from headcount.models.load import load_model, load_tokenizer
from tests.training import toy

WHO = [("der Bäcker", "the baker"), ("die Tante", "the aunt"), ("ein Kind", "a child"), ("der Wirt", "the host")]
DOES = [("sieht", "sees"), ("malt", "paints"), ("sucht", "seeks")]
WHAT = [("das Boot", "the boat"), ("einen Korb", "a basket"), ("die Mühle", "the mill")]


def pairs() -> pd.DataFrame:
    rows = [(f"{a} {b} {c}.", f"{x} {y} {z}.") for a, x in WHO for b, y in DOES for c, z in WHAT]
    return pd.DataFrame(rows, columns=["de", "en"])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, table = tmp_path_factory.mktemp("pairs"), pairs()
    for name, rows in {"train": table, "validation": table[::6], "test_a": table[1::9], "test_b": table[2::18]}.items():
        rows.reset_index(drop=True).assign(note="left out").to_parquet(folder / f"{name}.parquet")
    return folder


def run(data: Path, out: Path, *more: object) -> str:
    """What the recipe prints, run as `python -m recipes.translation.train` would run it."""
    options = [
        "--data",
        data,
        "--out",
        out,
        "--vocabulary",
        120,
        "--width",
        16,
        "--layers",
        1,
        "--batch",
        2,
        "--epochs",
        5,
        "--checkpoints",
        2,
        "--spacing",
        "log",
        "--precision",
        "float32",
        "--device",
        "cpu",
        *more,
    ]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main([str(one) for one in options])
    return printed.getvalue()


STEPS = ["step-000000", "step-000001", "step-000010"]
"""3 examples in batches of 2, five times: 10 steps, of which 2 on a logarithmic scale, and the start."""


def test_from_pairs_to_translations_of_every_checkpoint(data: Path, tmp_path: Path) -> None:
    printed = run(data, tmp_path, "--limit", 3)
    folder = tmp_path / "runs" / "translation" / "random" / "seed-0"
    said = json.loads((tmp_path / "translations.json").read_text(encoding="utf-8"))
    assert list(said) == [*STEPS, "model"]
    for name, found in said.items():
        assert {test: len(texts) for test, texts in found.items()} == (
            {"test_a": 3, "test_b": 2} if name == "model" else {"test_a": 3}
        )
        assert all(isinstance(text, str) and "</s>" not in text for texts in found.values() for text in texts)
    assert said["model"]["test_a"] == said[STEPS[-1]]["test_a"]
    table = pd.read_csv(tmp_path / "runs" / "runs.csv")
    assert (table["init"].item(), table["steps"].item()) == ("random", 10)
    assert {"score_bleu", "score_loss"} <= set(table.columns)
    assert f"{folder / 'model'}" in printed
    first, second, last = (toy.weights(folder / "checkpoints" / step) for step in STEPS)
    assert toy.same(first, second), "the rate of the first step is 0"
    assert not toy.same(second, last)
    assert toy.same(last, toy.weights(folder / "model"))
    model, tokenizer = hc.load(folder / "model")
    assert type(model).__name__ == "MarianMTModel"
    found = hc.measure(model, tokenizer, pairs()[:3], text=("de", "en"), only="entropy")["entropy"]
    assert set(found.stack.values) == {"encoder", "decoder", "cross"}


def test_one_vocabulary_for_both_languages() -> None:
    table = pairs()
    tokenizer = make_tokenizer([*table.de, *table.en], 200)
    for text in (*table.de, *table.en):
        ids = tokenizer(text)["input_ids"]
        assert ids[-1] == tokenizer.eos_token_id == 1
        assert tokenizer.unk_token_id not in ids
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert tokenizer.pad_token_id == 0
    assert tokenizer.tokenize("das Boot") == ["▁das", "▁Boot"]


def test_the_start_has_no_weights(data: Path, tmp_path: Path) -> None:
    start = make_start(data, tmp_path / "start", 90, 16, 2)
    assert len(load_tokenizer(start)) == 90
    with pytest.raises(ModelUnavailable, match="no weights"):
        load_model(start)


def test_no_checkpoints(data: Path, tmp_path: Path) -> None:
    run(data, tmp_path, "--checkpoints", 0, "--limit", 8, "--epochs", 1)
    assert list(json.loads((tmp_path / "translations.json").read_text(encoding="utf-8"))) == ["model"]
