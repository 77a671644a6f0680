"""Tasks by name, with other columns where they are given."""

from __future__ import annotations

import pandas as pd
import pytest

from headcount.data.kinds.catalogue import KINDS
from headcount.data.tasks import GLUE, find_glue, find_task, plain_name
from headcount.errors import DataProblem, InvalidOption


def test_every_task_has_a_metric_of_its_kind() -> None:
    assert set(GLUE) == {"cola", "mnli", "mnli-mm", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"}
    for task in GLUE.values():
        assert task.kind.find_metric(task.metric).name == task.metric
    assert [find_task(name).kind for name in KINDS if name != "multiple-choice"] == [
        kind for name, kind in KINDS.items() if name != "multiple-choice"
    ]


def test_columns_have_several_names() -> None:
    task = find_task("qnli")
    assert task.columns(pd.DataFrame(columns=["sentence1", "sentence2"])) == ("sentence1", "sentence2")
    assert task.columns(pd.DataFrame(columns=["question", "sentence"])) == ("question", "sentence")
    with pytest.raises(DataProblem, match="question and sentence or sentence1 and sentence2.*the table has text"):
        task.columns(pd.DataFrame(columns=["text"]))


def test_what_is_given_replaces_what_is_known() -> None:
    task = find_task("classification", text=("a", "b"), label="y", labels=("no", "yes"), metric="f1")
    assert (task.texts, task.label, task.user_labels, task.metric) == ((("a", "b"),), "y", ("no", "yes"), "f1")
    with pytest.raises(InvalidOption, match="context, then each choice"):
        find_task("multiple-choice")


@pytest.mark.parametrize(
    ("guess", "expected"),
    [
        ("sst-2", "sst2"),
        ("SST2", "sst2"),
        ("SST-2", "sst2"),
        ("sts-b", "stsb"),
        ("STS_B", "stsb"),
        ("CoLA", "cola"),
        ("mnli_mm", "mnli-mm"),
        ("MNLI-mismatched", "mnli-mm"),
        ("mnli-m", "mnli"),
        (" rte", "rte"),
        ("text-classification", "classification"),
        ("Token Classification", "token-classification"),
        ("ner", "token-classification"),
        ("masked_lm", "masked-lm"),
        ("text-generation", "causal-lm"),
    ],
)
def test_first_guesses_of_a_name(guess: str, expected: str) -> None:
    assert find_task(guess).name == expected
    assert (find_glue(guess) is not None) == (plain_name(guess) == plain_name(expected) and expected in GLUE)


def test_a_task_that_is_not_known() -> None:
    with pytest.raises(InvalidOption, match=r"got the task 'mrcp'; did you mean mrpc\? Expected one of cola, mnli"):
        find_task("mrcp")
    with pytest.raises(InvalidOption, match="got the task 'squad'; expected one of cola"):
        find_task("squad")
