"""Labels are matched to the model's names, never guessed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from headcount.data.examples import match_labels, read_examples
from headcount.data.tasks import find_task
from headcount.errors import DataProblem

NAMES = ("entailment", "neutral", "contradiction")


def test_codes_go_through_names_to_the_models_numbers() -> None:
    turned = {0: "CONTRADICTION", 1: "Neutral", 2: "entailment"}
    assert match_labels([0, 1, 2], NAMES, turned)[0].tolist() == [2, 1, 0]
    assert match_labels(["neutral", "Contradiction"], None, turned)[0].tolist() == [1, 0]


UNNAMED = {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}


def test_codes_without_meaning_are_class_numbers_and_it_is_said() -> None:
    labels, notes = match_labels([1, 0], None, UNNAMED)
    assert labels.tolist() == [1, 0]
    assert "class numbers" in notes[0]


def test_a_tasks_codes_are_never_taken_for_the_classes_of_a_model_without_names() -> None:
    """Models of MNLI order their classes differently: by position two of three labels could be wrong in silence."""
    with pytest.raises(DataProblem, match="--labels entailment neutral contradiction"):
        match_labels([1, 0], NAMES, UNNAMED)


def test_the_user_says_what_the_classes_of_a_model_without_names_are() -> None:
    theirs = ("contradiction", "entailment", "neutral")
    assert match_labels([0, 1, 2], NAMES, UNNAMED, theirs)[0].tolist() == [1, 2, 0]
    assert match_labels(["Neutral", "entailment"], NAMES, UNNAMED, theirs)[0].tolist() == [2, 1]
    assert match_labels([0, 1], None, UNNAMED, theirs)[0].tolist() == [0, 1], "codes that only the user names"
    with pytest.raises(DataProblem, match="got 2 labels .* for a model of 3 classes"):
        match_labels([0], NAMES, UNNAMED, ("yes", "no"))


def test_names_given_in_the_models_words_hold() -> None:
    assert match_labels([0, 1], ("a", "b"), {0: "LABEL_0", 1: "LABEL_1"}, ("LABEL_1", "LABEL_0"))[0].tolist() == [1, 0]
    assert match_labels([0, 1], ("no", "yes"), {0: "good", 1: "bad"}, ("bad", "good"))[0].tolist() == [1, 0]


def test_errors_name_the_row_of_the_table() -> None:
    with pytest.raises(DataProblem, match="row 7"):
        match_labels(pd.Series([0, None], index=[3, 7]), None, {0: "a", 1: "b"})


@pytest.mark.parametrize(
    ("values", "names", "id2label", "expected"),
    [
        ([0], NAMES, {0: "yes", 1: "no"}, "entailment do not match the model's 0=yes, 1=no"),
        (["maybe"], None, {0: "yes", 1: "no"}, "maybe do not match"),
        ([0, 3], NAMES, {0: "entailment", 1: "neutral", 2: "contradiction"}, "row 1: got the label 3; expected 0 to 2"),
        ([-1], None, {0: "a", 1: "b"}, "expected 0 to 1"),
        ([0.5], None, {0: "a", 1: "b"}, "whole numbers"),
        ([None, 1], None, {0: "a", 1: "b"}, "missing"),
    ],
)
def test_what_cannot_be_matched(values: list[object], names: object, id2label: dict[int, str], expected: str) -> None:
    with pytest.raises(DataProblem, match=expected):
        match_labels(values, names, id2label)  # type: ignore[arg-type]


def test_a_limit_draws_the_same_rows_for_a_seed() -> None:
    table = pd.DataFrame({"sentence": list("abcdefghij"), "label": [0, 1] * 5})
    task = find_task("sst2")
    id2label = {0: "negative", 1: "positive"}
    some = read_examples(table, task, id2label, limit=4, seed=1)
    assert len(some) == 4
    assert some.ids.tolist() == read_examples(table, task, id2label, limit=4, seed=1).ids.tolist()
    assert some.ids.tolist() != read_examples(table, task, id2label, limit=4, seed=2).ids.tolist()
    assert [text[0] for text in some.texts] == [table["sentence"][row] for row in some.ids]


def test_regression_labels_are_numbers() -> None:
    table = pd.DataFrame({"sentence": ["a", "b"], "label": ["1.5", "x"]})
    with pytest.raises(DataProblem, match="row 1: got the label 'x'; expected a finite number"):
        read_examples(table, find_task("regression"), None)
    table["label"] = [1.5, np.nan]
    with pytest.raises(DataProblem, match="row 1"):
        read_examples(table, find_task("regression"), None)


def test_words_and_tags_must_match() -> None:
    table = pd.DataFrame({"tokens": [["a", "b"]], "tags": [[0]]})
    with pytest.raises(DataProblem, match="2 words and 1 tags"):
        read_examples(table, find_task("token-classification"), {0: "LABEL_0", 1: "LABEL_1"})
    with pytest.raises(DataProblem, match="a list of words"):
        read_examples(pd.DataFrame({"tokens": ["a b"], "tags": [[0]]}), find_task("token-classification"), {0: "x"})
