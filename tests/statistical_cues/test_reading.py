"""Reading examples whose cues are counted: tasks by name and by columns, class names, blank rows, contexts."""

from __future__ import annotations

import pandas as pd
import pytest

from headcount.data.tasks import find_task
from headcount.errors import BlankRows, DataProblem, InvalidOption
from headcount.statistical_cues.reading import CONTEXT, class_names, find_cue_task, read_cue_data
from tests.statistical_cues.planted import choices, sentences


def test_names_of_classes() -> None:
    plain = find_task("classification")
    assert class_names(pd.Series([0, 2, 1]), plain) == ["0", "1", "2"]
    assert class_names(pd.Series(["no", "Yes", "yes"]), plain) == ["no", "yes"]
    assert class_names(pd.Series([0, 1]), find_task("rte")) == ["entailment", "not_entailment"]
    assert class_names(pd.Series([1, 0]), find_task("rte", labels=["yes", "no"])) == ["yes", "no"]
    with pytest.raises(DataProblem, match="have the labels bad; expected those of labels=: yes, no"):
        class_names(pd.Series(["yes", "bad"]), find_task("rte", labels=["yes", "no"]))


def test_labels_that_are_names() -> None:
    table = sentences().assign(label=lambda table: table["label"].map({0: "bad", 1: "good"}))
    read = read_cue_data(table, find_cue_task(table, None, None, None, None, None, False), None, None, 0)
    assert read.names == ["bad", "good"]
    assert (read.labels == sentences()["label"]).all()


@pytest.mark.parametrize(
    ("side", "texts"), [("first", ("a",)), ("second", ("b",)), ("both", ("a", "b")), (None, ("a", "b"))]
)
def test_sides(side: str | None, texts: tuple[str, ...]) -> None:
    table = pd.DataFrame({"sentence1": ["a", "a"], "sentence2": ["b", "b"], "label": [0, 1]})
    task = find_cue_task(table, "rte", None, None, None, None, False)
    assert read_cue_data(table, task, side, None, 0).texts == [texts, texts]


def test_blank_rows_are_left_out() -> None:
    table = sentences()
    table.loc[[3, 7], "sentence"] = ["  ", None]
    task = find_cue_task(table, "sst2", None, None, None, None, False)
    with pytest.warns(BlankRows, match="2 of 200 rows are blank"):
        read = read_cue_data(table, task, None, None, 0)
    assert len(read) == 198
    assert read.examples.blank["rows"] == [3, 7]


def test_one_blank_choice_is_a_choice() -> None:
    table = choices()
    table.loc[0, "second"] = None
    task = find_cue_task(table, None, ["first", "second"], None, None, None, False)
    assert read_cue_data(table, task, None, None, 0).texts[0][1] == ""


def test_a_context_of_several_columns() -> None:
    table = choices(4).assign(reason=["because", None, "so", ""])
    task = find_cue_task(table, None, ["first", "second"], ["claim", "reason"], None, None, True)
    contexts = task.prepare(table)[CONTEXT].tolist()
    assert contexts == [
        f"{claim}. {reason}".removesuffix(". ")
        for claim, reason in zip(table["claim"], ["because", "", "so", ""], strict=True)
    ]


def test_a_multiple_choice_task_is_the_same_as_its_choices() -> None:
    table = choices()
    named = find_cue_task(table, "multiple-choice", None, ["claim", "first", "second"], None, None, False)
    typed = find_cue_task(table, None, ["first", "second"], None, None, None, False)
    assert named.choices == typed.choices
    assert (
        read_cue_data(table, named, None, None, 0).fingerprint == read_cue_data(table, typed, None, None, 0).fingerprint
    )


def test_what_has_no_classes_is_refused() -> None:
    with pytest.raises(InvalidOption, match="got the task stsb; cues are counted for labels that are classes"):
        find_cue_task("file.csv", "stsb", None, None, None, None, False)
    with pytest.raises(InvalidOption, match="got text=.* task= is a Task"):
        find_cue_task("file.csv", find_task("rte"), None, ["a"], None, None, False)
