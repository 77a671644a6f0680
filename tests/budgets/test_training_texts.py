"""Do the texts that score, refit and train come from where they should, and never from the held-out half?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headcount.budgets.training_texts import find_training, training_texts
from headcount.choosing.halves import read_halves
from headcount.data.tasks import find_task
from headcount.errors import BlankRows, DataProblem, InvalidOption
from tests import planted

TASK = find_task("sst2")
TRAINED = planted.texts(70, seed=5).assign(sentence=lambda table: table["sentence"] + " so so so so")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    planted.texts(60).to_csv(tmp_path / "data" / "validation.csv", index=False)
    TRAINED.to_csv(tmp_path / "data" / "train.csv", index=False)
    return tmp_path / "data"


def texts(data: Any, tokenizer: Any, train: Any = None, most: int | None = 1024, seed: int = 0) -> pd.DataFrame:
    selection, _ = read_halves(data, TASK, None, seed, tokenizer)
    return training_texts(data, train, TASK, tokenizer, selection, seed, most)


def test_the_training_split_of_a_folder(folder: Path, tokenizer: Any) -> None:
    assert find_training(folder) == find_training(str(folder)) == folder / "train.csv"
    pd.testing.assert_frame_equal(texts(folder, tokenizer), TRAINED, check_dtype=False)


@pytest.mark.parametrize("kind", ["frame", "file", "folder"])
def test_training_examples_that_were_given(folder: Path, tokenizer: Any, tmp_path: Path, kind: str) -> None:
    own = TRAINED.iloc[:30]
    (tmp_path / "own").mkdir()
    own.to_csv(tmp_path / "own" / "train.csv", index=False)
    train = {"frame": own, "file": tmp_path / "own" / "train.csv", "folder": str(tmp_path / "own")}[kind]
    assert list(texts(folder, tokenizer, train)["sentence"]) == list(own["sentence"])


def test_a_folder_that_is_given_for_both_trains_on_its_training_split(folder: Path, tokenizer: Any) -> None:
    assert list(texts(folder, tokenizer, train=folder)["sentence"]) == list(TRAINED["sentence"])


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("kind", ["file", "frame", "folder without a training split"])
def test_without_any_it_is_the_half_that_selects(folder: Path, tokenizer: Any, kind: str, seed: int) -> None:
    (folder / "train.csv").unlink()
    frame = pd.read_csv(folder / "validation.csv")
    data = {"file": folder / "validation.csv", "frame": frame}.get(kind, folder)
    found = texts(data, tokenizer, seed=seed)
    selection, held_out = read_halves(data, TASK, None, seed, tokenizer)
    pd.testing.assert_frame_equal(found, selection)
    assert not set(found.index) & set(held_out.index)
    assert len(found) + len(held_out) == 60


def test_as_many_as_asked_for(folder: Path, tokenizer: Any) -> None:
    some = texts(folder, tokenizer, most=20)
    assert len(some) == len(set(some.index)) == 20
    assert list(some.index) == sorted(some.index)
    assert set(some.index) != set(texts(folder, tokenizer, most=20, seed=1).index)
    pd.testing.assert_frame_equal(some, texts(folder, tokenizer, most=20))
    assert len(texts(folder, tokenizer, most=None)) == 70
    assert len(texts(planted.texts(60), tokenizer, most=20)) == 20


def test_blank_rows_are_left_out(folder: Path, tokenizer: Any) -> None:
    TRAINED.assign(sentence=TRAINED["sentence"].where(TRAINED.index > 1, " ")).to_csv(folder / "train.csv", index=False)
    with pytest.warns(BlankRows, match="2 of 70 rows"):
        assert list(texts(folder, tokenizer).index) == list(range(2, 70))


def test_the_examples_that_evaluate_are_refused(folder: Path, tokenizer: Any) -> None:
    frame, file = planted.texts(60), folder / "validation.csv"
    for data, train in ((frame, frame), (file, str(file)), (str(file), file)):
        with pytest.raises(InvalidOption, match="train= and data= that are the same examples; leave train= out"):
            texts(data, tokenizer, train)


def test_a_folder_without_training_examples(folder: Path, tokenizer: Any) -> None:
    (folder / "train.csv").unlink()
    with pytest.raises(DataProblem, match="has no train file"):
        texts(folder, tokenizer, train=folder)
