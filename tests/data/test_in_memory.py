"""Is data in every form that people have it read as the same table, and is anything else refused in one line?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headcount as hc
from headcount.data.in_memory import as_frame, choose_split, name_of
from headcount.data.tables import read_table
from headcount.data.tasks import find_task
from headcount.errors import DataProblem
from headcount.training.splits import read_splits
from tests import planted
from tests.measures import tiny

ROWS = planted.texts(60).to_dict("records")
TABLE = pd.DataFrame(ROWS)


def dataset(rows: Any = ROWS) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(list(rows))


def polars(lazy: bool = False) -> Any:
    frame = pytest.importorskip("polars").DataFrame(ROWS)
    return frame.lazy() if lazy else frame


def arrow() -> Any:
    return pytest.importorskip("pyarrow").Table.from_pylist(ROWS)


FORMS: dict[str, Callable[[], Any]] = {
    "rows": lambda: ROWS,
    "a tuple of rows": lambda: tuple(ROWS),
    "datasets": dataset,
    "polars": polars,
    "polars, lazy": lambda: polars(lazy=True),
    "arrow": arrow,
    "DatasetDict": lambda: pytest.importorskip("datasets").DatasetDict(
        train=dataset(ROWS[:3]), validation=dataset(), test=dataset(ROWS[:5])
    ),
    "a dict of frames": lambda: {"train": TABLE.head(3), "validation": TABLE},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_table(form: str) -> None:
    pd.testing.assert_frame_equal(read_table(FORMS[form]()), TABLE, check_dtype=False)


@pytest.mark.parametrize("form", ["rows", "datasets", "polars", "DatasetDict"])
def test_verbs_give_the_same_as_for_a_frame(form: str, tmp_path: Path) -> None:
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path)
    data = FORMS[form]()
    expected = hc.sweep(model, tokenizer, TABLE, task="sst2")
    found = hc.sweep(model, tokenizer, data, task="sst2")
    pd.testing.assert_series_equal(found["score"].to_series(), expected["score"].to_series(), check_dtype=False)
    assert found.attrs["data"] == name_of(data)
    assert found.attrs["identity"]["data"] == expected.attrs["identity"]["data"]
    assert hc.cues(data, task="sst2").equals(hc.cues(TABLE, task="sst2"))
    measured = hc.measure(model, tokenizer, data, only=["entropy"])["entropy"]
    assert measured.equals(hc.measure(model, tokenizer, TABLE, only=["entropy"])["entropy"])


def test_annotated_rows() -> None:
    model, tokenizer = tiny.masked()
    rows = [{"tokens": ["it", "is"], "upos": ["PRON", "VERB"], "heads": [2, 0], "deprels": ["nsubj", "root"]}] * 4
    expected = hc.measure(model, tokenizer, pd.DataFrame(rows), only=["features"])["features"]
    assert hc.measure(model, tokenizer, dataset(rows), only=["features"])["features"].equals(expected)


def test_training_reads_both_splits_or_holds_a_fifth_out() -> None:
    task = find_task("sst2")
    splits = read_splits(task, FORMS["DatasetDict"]())
    assert (len(splits.train), len(splits.validation)) == (3, 60)
    held = read_splits(task, ROWS)
    assert (len(held.train), len(held.validation)) == (48, 12)


MNLI = ["train", "validation_matched", "validation_mismatched", "test_matched"]


@pytest.mark.parametrize(
    ("names", "own", "expected"),
    [
        (MNLI, None, ["validation_matched"]),
        (MNLI, "validation_matched", ["validation_matched"]),
        (MNLI, "validation_mismatched", ["validation_mismatched"]),
        (["validation_matched"], "validation_mismatched", []),
        (
            ["validation_mismatched_small", "validation_matched"],
            "validation_mismatched",
            ["validation_mismatched_small"],
        ),
        (["validation", "validation_matched"], None, ["validation"]),
        (["validation"], "validation_matched", ["validation"]),
        (["validation_small"], "validation_matched", ["validation_small"]),
        (["validation_a", "validation_b"], None, ["validation_a", "validation_b"]),
    ],
)
def test_which_split_is_meant(names: list[str], own: str | None, expected: list[str]) -> None:
    assert choose_split(names, "validation", own) == expected


def test_a_folder_of_mnli(tmp_path: Path) -> None:
    for number, name in enumerate(("validation_matched", "validation_mismatched_part")):
        TABLE.head(number + 2).to_csv(tmp_path / f"{name}.csv", index=False)
    assert len(read_table(tmp_path)) == 2
    assert len(read_table(tmp_path, own="validation_mismatched")) == 3
    (tmp_path / "validation_matched.csv").rename(tmp_path / "validation_other.csv")
    with pytest.raises(DataProblem, match="has several validation files"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a text"], "got a list of str; expected a file or folder"),
        ({"text": ["a", "b"]}, "got a dict of list; expected"),
        (7, "got 7; expected"),
        (object(), "got data of the type object; expected"),
        ({"train": ROWS, "test": ROWS}, "the dict has no validation split; it has train, test"),
        ([], "no rows"),
    ],
)
def test_what_is_refused(data: Any, message: str) -> None:
    with pytest.raises(DataProblem) as error:
        read_table(data)
    assert message in str(error.value)


def test_frames_stay_themselves() -> None:
    assert as_frame(TABLE, "validation") is TABLE
