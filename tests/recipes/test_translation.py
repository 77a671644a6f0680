"""Does the recipe for a translation model run from pairs of sentences to translations of every checkpoint?"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

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
    for name, rows in {"train": table, "validation": table[::6], "test_a": table[1::9], "test_b": table[2::12]}.items():
        rows.reset_index(drop=True).assign(note="left out").to_parquet(folder / f"{name}.parquet")
    return folder


def run(data: Path, out: Path, *more: object) -> str:
    """What the recipe prints, run as `python -m recipes.translation.train` would run it."""
    options = ["--data", data, "--out", out, "--vocabulary", 120, "--width", 16, "--layers", 1, "--batch", 8,
               "--epochs", 2, "--checkpoints", 2, "--precision", "float32", "--device", "cpu", *more]  # fmt: skip
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main([str(one) for one in options])
    return printed.getvalue()


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    (folder / "first.log").write_text(run(data, folder), encoding="utf-8")
    return folder


STEPS = ["step-000000", "step-000001", "step-000010"]
"""36 examples in batches of 8, twice: 10 steps, of which 2 on a logarithmic scale, and the start."""


def test_every_checkpoint_translates(out: Path) -> None:
    said = json.loads((out / "translations.json").read_text(encoding="utf-8"))
    assert list(said) == [*STEPS, "model"]
    for name, found in said.items():
        assert {test: len(texts) for test, texts in found.items()} == (
            {"test_a": 4, "test_b": 3} if name == "model" else {"test_a": 4}
        )
        assert all(isinstance(text, str) and "</s>" not in text for texts in found.values() for text in texts)
    assert said["model"]["test_a"] == said[STEPS[-1]]["test_a"], "the last checkpoint is the model"


def test_the_model_is_one_for_every_verb(out: Path, data: Path) -> None:
    model, tokenizer = hc.load(out / "runs" / "translation" / "random" / "seed-0" / "model")
    assert type(model).__name__ == "MarianMTModel"
    table = pd.read_parquet(data / "validation.parquet")
    found = hc.measure(model, tokenizer, table, text=("de", "en"), only="entropy")["entropy"]
    assert set(found.stack.values) == {"encoder", "decoder", "cross"}


def test_checkpoints_on_the_way_differ(out: Path) -> None:
    """All but the first two: the rate of the first step is 0."""
    folder = out / "runs" / "translation" / "random" / "seed-0" / "checkpoints"
    first, second, last = (toy.weights(folder / step) for step in STEPS)
    assert toy.same(first, second)
    assert not toy.same(second, last)


def test_the_table_of_runs(out: Path) -> None:
    table = pd.read_csv(out / "runs" / "runs.csv")
    assert (table["init"].item(), table["steps"].item()) == ("random", 10)
    assert {"score_bleu", "score_loss"} <= set(table.columns)
    assert "translation" in (out / "first.log").read_text(encoding="utf-8")


def test_the_same_command_trains_nothing(data: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (out / "translations.json").read_text(encoding="utf-8")
    monkeypatch.setattr("headcount.training.run.build_model", lambda *_: pytest.fail("built a model"))
    assert run(data, out) == (out / "first.log").read_text(encoding="utf-8")
    assert (out / "translations.json").read_text(encoding="utf-8") == before


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


@pytest.mark.xfail(strict=True, raises=FileNotFoundError, reason="without checkpoints there is no folder of them")
def test_no_checkpoints(data: Path, tmp_path: Path) -> None:
    run(data, tmp_path, "--checkpoints", 0, "--limit", 8, "--epochs", 1)
    assert list(json.loads((tmp_path / "translations.json").read_text(encoding="utf-8"))) == ["model"]


def test_a_limit_holds_for_training_and_tests(data: Path, tmp_path: Path) -> None:
    run(data, tmp_path, "--limit", 2, "--epochs", 1, "--checkpoints", 1)
    said: dict[str, Any] = json.loads((tmp_path / "translations.json").read_text(encoding="utf-8"))
    assert {test: len(texts) for test, texts in said["model"].items()} == {"test_a": 2, "test_b": 2}
    assert pd.read_csv(tmp_path / "runs" / "runs.csv")["steps"].item() == 1
