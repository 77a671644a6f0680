"""Splits of a task: where they are found, the names of their classes, and one line for what cannot be trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headcount.data.tasks import find_task
from headcount.errors import DataProblem
from headcount.training.models import build_model
from headcount.training.splits import read_splits
from tests.training import toy

MRPC = find_task("mrpc")


def test_a_folder_for_each_task_and_the_folder_itself(tmp_path: Path) -> None:
    toy.save_splits(tmp_path / "MRPC", toy.pairs(12), toy.pairs(6, seed=1))
    for root in (tmp_path, tmp_path / "MRPC", str(tmp_path)):
        splits = read_splits(MRPC, root)
        pd.testing.assert_frame_equal(splits.train, toy.pairs(12))
        pd.testing.assert_frame_equal(splits.validation, toy.pairs(6, seed=1))
        assert splits.names == ("not_equivalent", "equivalent")


def test_the_folder_of_the_task_comes_before_files_beside_it(tmp_path: Path) -> None:
    toy.save_splits(tmp_path, toy.pairs(4))
    toy.save_splits(tmp_path / "MRPC", toy.pairs(10))
    assert len(read_splits(MRPC, tmp_path).train) == 10


@pytest.mark.parametrize(("task", "folder"), [("sst2", "SST-2"), ("stsb", "STS-B"), ("cola", "CoLA"), ("rte", "rte")])
def test_names_of_folders(tmp_path: Path, task: str, folder: str) -> None:
    table = toy.pairs(6).rename(columns={"sentence1": "sentence"} if task in ("sst2", "cola") else {})
    toy.save_splits(tmp_path / folder, table)
    assert len(read_splits(find_task(task), tmp_path).train) == 6


def test_a_subset_of_the_training_file(tmp_path: Path) -> None:
    toy.save_splits(tmp_path, toy.pairs(8))
    (tmp_path / "train.parquet").rename(tmp_path / "train_subset.parquet")
    assert len(read_splits(MRPC, tmp_path).train) == 8
    toy.pairs(20).to_csv(tmp_path / "train.csv", index=False)
    assert len(read_splits(MRPC, tmp_path).train) == 20, "the file with the exact name comes first"
    toy.pairs(30).to_csv(tmp_path / "training.csv", index=False)
    assert len(read_splits(MRPC, tmp_path).train) == 20


def test_the_mismatched_split_of_mnli(tmp_path: Path) -> None:
    table = pd.DataFrame({"premise": ["w1"] * 6, "hypothesis": ["w2"] * 6, "label": [0, 1, 2] * 2})
    table.to_parquet(tmp_path / "train.parquet")
    table.to_parquet(tmp_path / "validation_matched.parquet")
    table.iloc[:3].to_parquet(tmp_path / "validation_mismatched.parquet")
    assert len(read_splits(find_task("mnli"), tmp_path).validation) == 6
    assert len(read_splits(find_task("mnli-mm"), tmp_path).validation) == 3


def test_limit_takes_a_random_part_in_order(tmp_path: Path) -> None:
    toy.save_splits(tmp_path, toy.pairs(40))
    found = read_splits(MRPC, tmp_path, limit=10)
    assert len(found.train) == 10
    assert len(found.validation) == 40
    texts = list(toy.pairs(40)["sentence1"])
    places = [texts.index(text) for text in found.train["sentence1"]]
    assert places == sorted(places)
    assert places != list(range(10))
    pd.testing.assert_frame_equal(found.train, read_splits(MRPC, tmp_path, limit=10).train)
    assert not found.train.equals(read_splits(MRPC, tmp_path, limit=10, seed=1).train)
    assert len(read_splits(MRPC, tmp_path, limit=1000).train) == 40


def test_with_a_limit_classes_are_those_of_all_training_examples(tmp_path: Path) -> None:
    """The few that are taken may lack a class that the validation split has."""
    table = toy.pairs(100).assign(label=["a", "b"] * 49 + ["a", "c"])
    toy.save_splits(tmp_path / "words", table, table.tail(4))
    for limit in (1, 2, 5):
        splits = read_splits(find_task("classification"), tmp_path / "words", limit=limit)
        assert len(splits.train) == limit
        assert "c" not in set(splits.train["label"])
        assert splits.names == splits.task.names == ("a", "b", "c")
        assert build_model(toy.save_checkpoint(tmp_path / "model"), splits, "random", 0)[0].config.num_labels == 3
    assert read_splits(MRPC, toy.save_splits(tmp_path / "pairs", toy.pairs(40)), limit=1).names == MRPC.names
    tags = toy.tagged(40)
    tags.at[7, "tags"] = ["RARE"] * len(tags["tokens"][7])
    found = read_splits(find_task("token-classification"), toy.save_splits(tmp_path / "tags", tags), limit=1)
    assert found.names == ("A", "O", "RARE")


def test_classes_without_known_names_are_named_by_their_labels(tmp_path: Path) -> None:
    task = find_task("classification")
    table = toy.pairs(6).assign(label=["b", "a", "c"] * 2)
    splits = read_splits(task, toy.save_splits(tmp_path / "words", table))
    assert splits.names == splits.task.names == ("a", "b", "c")
    codes = read_splits(task, toy.save_splits(tmp_path / "codes", toy.pairs(30).assign(label=list(range(10)) * 3)))
    assert codes.names == tuple(map(str, range(10))), "by number, not by letter"


def test_tags_and_numbers(tmp_path: Path) -> None:
    tags = read_splits(find_task("token-classification"), toy.save_splits(tmp_path / "tags", toy.tagged(6)))
    assert tags.names == ("A", "O")
    assert read_splits(find_task("stsb"), toy.save_splits(tmp_path / "numbers", toy.numbers(6))).names == ()


def refused(root: Path, task: Any = MRPC) -> str:
    with pytest.raises(DataProblem) as caught:
        read_splits(task, root)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert "there is no folder" in refused(tmp_path / "nowhere")
    assert "no train file" in refused(tmp_path)
    toy.pairs(4).to_parquet(tmp_path / "train.parquet")
    message = refused(tmp_path)
    assert "no validation file" in message
    assert "it has train.parquet" in message
    (tmp_path / "train.parquet").rename(tmp_path / "validation.parquet")
    assert "no train file" in refused(tmp_path)


def test_labels_that_differ_between_the_splits(tmp_path: Path) -> None:
    other = toy.pairs(4).assign(label=["a", "b", "a", "z"])
    message = refused(
        toy.save_splits(tmp_path, toy.pairs(4).assign(label=list("abab")), other), find_task("classification")
    )
    assert "validation has the labels z" in message
    # A validation split that lacks a class is no error: small ones do.
    toy.save_splits(tmp_path, toy.pairs(4), toy.pairs(4).assign(label=0))
    assert read_splits(MRPC, tmp_path).names == MRPC.names


def test_one_class_only(tmp_path: Path) -> None:
    assert "one class only (1)" in refused(toy.save_splits(tmp_path, toy.pairs(4).assign(label=1)))
    tags = toy.tagged(4)
    tags["tags"] = [["O"] * len(words) for words in tags["tokens"]]
    assert "one class only ('O')" in refused(toy.save_splits(tmp_path, tags), find_task("token-classification"))


def test_labels_that_differ_in_case_alone(tmp_path: Path) -> None:
    table = toy.pairs(4).assign(label=["Yes", "yes"] * 2)
    refused(toy.save_splits(tmp_path, table), find_task("classification"))


@pytest.mark.parametrize("split", ["train", "validation"])
def test_missing_label_column(tmp_path: Path, split: str) -> None:
    toy.save_splits(tmp_path, toy.pairs(4))
    toy.pairs(4).drop(columns="label").to_parquet(tmp_path / f"{split}.parquet")
    message = refused(tmp_path)
    assert "no label column 'label'" in message
    assert split in message
    assert "sentence1, sentence2" in message


def test_the_hub_has_glue_only() -> None:
    with pytest.raises(DataProblem, match="data="):
        read_splits(find_task("classification"), None)


def test_a_file_is_parted_the_same_way_every_time(tmp_path: Path) -> None:
    table = pd.DataFrame({"sentence": [f"text {n}" for n in range(50)], "label": [n % 2 for n in range(50)]})
    table.to_parquet(tmp_path / "all.parquet")
    one, other = (read_splits(find_task("sst2"), tmp_path / "all.parquet") for _ in range(2))
    assert (len(one.train), len(one.validation)) == (40, 10)
    assert one.fingerprint == other.fingerprint
    assert sorted([*one.train["sentence"], *one.validation["sentence"]]) == sorted(table["sentence"])
    table.head(2).to_parquet(tmp_path / "few.parquet")
    with pytest.raises(DataProblem, match="a fifth"):
        read_splits(find_task("sst2"), tmp_path / "few.parquet")
