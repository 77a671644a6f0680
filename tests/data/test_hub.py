"""Data sets on the hub, with the hub's loading code on local copies, and its errors offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.data import hub
from headcount.data.hub import HubData, find_hub, read_hub
from headcount.data.tables import read_table
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, InvalidOption
from headcount.training.splits import read_splits
from tests.training import toy


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A data set with three splits, as the hub has it."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "set").mkdir()
    for number, split in enumerate(("train", "validation", "test")):
        toy.pairs(32 + 8 * number, seed=number).to_csv(tmp_path / "set" / f"{split}.csv", index=False)
    return str(tmp_path / "set")


def test_a_local_copy_loads(tmp_path: Path) -> None:
    pd.DataFrame({"sentence": ["a", "b"], "label": [0, 1]}).to_csv(tmp_path / "validation.csv", index=False)
    assert list(read_hub(str(tmp_path), None, "validation")["sentence"]) == ["a", "b"]


def test_offline_says_what_to_do() -> None:
    with pytest.raises(DataProblem, match="data="):
        read_hub("no-such/data-set-of-headcount", "mrpc", "validation")


def test_split_and_configuration(copy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(read_table(f"hub:{copy}{more}")) for more in ("", ",split=train", ",split=test")] == [40, 32, 48]
    with pytest.raises(DataProblem, match=r'Unknown split "dev".*name another, as in.*or give a local file'):
        read_table(f"hub:{copy},split=dev")
    asked: list[Any] = []
    monkeypatch.setattr(hub, "read_hub", lambda *words: asked.append(words) or toy.pairs(3))
    read_table("hub:nyu-mll/glue,config=mrpc,split=test")
    read_table("hub:nyu-mll/glue:rte")
    assert asked == [("nyu-mll/glue", "mrpc", "test"), ("nyu-mll/glue", "rte", "validation")]


def test_the_split_that_a_task_means(copy: str, tmp_path: Path) -> None:
    """MNLI's own validation split where the data set has it, the plain one where it has not."""
    assert len(read_table(f"hub:{copy}", own="validation_matched")) == 40
    toy.pairs(5).to_csv(Path(copy) / "validation_matched.csv", index=False)
    (Path(copy) / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: train.csv\n"
        "  - split: validation_matched\n    path: validation_matched.csv\n---\n"
    )
    assert len(read_table(f"hub:{copy}", own="validation_matched")) == 5


def test_both_splits_train(copy: str) -> None:
    """Without a split, those for training and validation; a single one is divided, as a file is."""
    found = read_splits(find_task("mrpc"), f"hub:{copy}")
    assert (len(found.train), len(found.validation)) == (32, 40)
    alone = read_splits(find_task("mrpc"), f"hub:{copy},split=test")
    assert (len(alone.train), len(alone.validation)) == (38, 10)


def test_every_reader_takes_it(copy: str, tmp_path: Path) -> None:
    """Texts, and sentences with trees."""
    toy.save_checkpoint(tmp_path / "model")
    model, tokenizer = hc.load(tmp_path / "model")
    found = hc.measure(model, tokenizer, f"hub:{copy},split=test", only=["entropy"])
    assert found.attrs["texts"] == 48
    trees = tmp_path / "trees"
    trees.mkdir()
    rows = {"tokens": [["w1", "w2"]] * 30, "upos": [["NOUN", "VERB"]] * 30, "heads": [[2, 0]] * 30}
    pd.DataFrame({**rows, "deprels": [["nsubj", "root"]] * 30}).to_parquet(trees / "validation.parquet")
    probed = [hc.probe(model, tokenizer, data) for data in (f"hub:{trees}", trees / "validation.parquet")]
    xr.testing.assert_equal(*probed)


@pytest.mark.parametrize(
    "name", ["hub:", "hub:me/pairs,part=test", "hub:me/pairs,split", "hub:me/pairs:a,config=b", "hub:me/pairs,split="]
)
def test_malformed_names(name: str) -> None:
    with pytest.raises(InvalidOption, match="expected"):
        find_hub(name)


def test_names_are_spelled_as_they_are_read() -> None:
    for data in (HubData("a/b"), HubData("a/b", "c"), HubData("a/b", None, "test"), HubData("a/b", "c", "test")):
        assert find_hub(str(data)) == data
    assert find_hub("pairs.csv") is find_hub(toy.pairs(2)) is None
