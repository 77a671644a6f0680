"""Labels are matched to the model's names, never guessed."""

from __future__ import annotations

import pandas as pd
import pytest

from headcount.data.examples import read_examples
from headcount.data.labels import match_labels
from headcount.data.tasks import find_task
from headcount.errors import DataProblem, InvalidOption

NAMES = ("entailment", "neutral", "contradiction")


def test_codes_go_through_names_to_the_models_numbers() -> None:
    turned = {0: "CONTRADICTION", 1: "Neutral", 2: "entailment"}
    assert match_labels([0, 1, 2], NAMES, turned)[0].tolist() == [2, 1, 0]
    assert match_labels(["neutral", "Contradiction"], None, turned)[0].tolist() == [1, 0]


REVIEWS = ["bad", "good", "bad"]
TWO = {0: "LABEL_0", 1: "LABEL_1"}
UNNAMED = {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}


def test_codes_without_meaning_are_class_numbers_and_it_is_said() -> None:
    labels, notes = match_labels([1, 0], None, UNNAMED)
    assert labels.tolist() == [1, 0]
    assert "class numbers" in notes[0]


def test_a_tasks_codes_are_never_taken_for_the_classes_of_a_model_without_names() -> None:
    """Models of MNLI order their classes differently: by position two of three labels could be wrong in silence."""
    with pytest.raises(DataProblem, match=r"labels=\['entailment', 'neutral', 'contradiction'\]"):
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
        ([0], NAMES, {0: "yes", 1: "no"}, "mean in the model's words, such as labels=\\['yes', 'no'\\]"),
        (["maybe"], None, {0: "yes", 1: "no"}, r"\(maybe\) are not the model's classes \(yes, no\)"),
        ([0, 3], NAMES, {0: "entailment", 1: "neutral", 2: "contradiction"}, "row 1: got the label 3; expected 0 to 2"),
        ([-1], None, {0: "a", 1: "b"}, "expected 0 to 1"),
        ([0.5], None, {0: "a", 1: "b"}, "whole numbers"),
        ([None, 1], None, {0: "a", 1: "b"}, "missing"),
    ],
)
def test_what_cannot_be_matched(values: list[object], names: object, id2label: dict[int, str], expected: str) -> None:
    with pytest.raises(DataProblem, match=expected):
        match_labels(values, names, id2label)  # type: ignore[arg-type]


@pytest.mark.parametrize("id2label", [TWO, {0: "negative", 1: "positive"}])
def test_labels_in_other_words_lead_to_a_command_that_works(id2label: dict[int, str]) -> None:
    """What the error proposes is what is then understood."""
    with pytest.raises(DataProblem, match="in the order of its classes, such as labels=\\['bad', 'good'\\]$"):
        match_labels(REVIEWS, None, id2label)
    for names in (None, ("negative", "positive")):
        assert match_labels(REVIEWS, names, id2label, ("bad", "good"))[0].tolist() == [0, 1, 0]
        assert match_labels(REVIEWS, names, id2label, ("good", "bad"))[0].tolist() == [1, 0, 1]


def test_the_models_own_words_come_first() -> None:
    id2label = {0: "negative", 1: "positive"}
    assert match_labels(["positive", "negative"], None, id2label, ("negative", "positive"))[0].tolist() == [1, 0]
    with pytest.raises(InvalidOption, match="labels=, which has no effect here: the data's labels are the model's"):
        match_labels(["positive", "negative"], None, id2label, ("positive", "negative"))
    with pytest.raises(DataProblem, match=r"or those of labels= \(LABEL_0, LABEL_1\); .* labels=\['bad', 'good'\]"):
        match_labels(REVIEWS, None, TWO, ("LABEL_0", "LABEL_1"))


def test_a_message_does_not_repeat_the_data() -> None:
    many = [f"class {number} {'x' * 50}" for number in range(500)]
    with pytest.raises(DataProblem) as error:
        match_labels(many, None, TWO)
    assert len(str(error.value)) < 1000
    with pytest.raises(DataProblem) as error:
        read_examples(pd.DataFrame({"sentence": [["word"] * 900], "label": [0]}), find_task("sst2"), TWO)
    assert "characters)" in str(error.value)
    assert len(str(error.value)) < 250
