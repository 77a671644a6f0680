"""Which way cues point: all of them, or the named ones on the examples that have them."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.errors import DataProblem, InvalidOption
from headcount.statistical_cues.folds import group_texts
from headcount.statistical_cues.pointing import Counting, Pointing, point
from headcount.statistical_cues.reading import find_cue_task, read_cue_data
from tests.statistical_cues.planted import choices, sentences

COUNTING = Counting("exactly-one", "words", False, False, 10)


def _point(table: object, only: list[str] | None = None, named: list[str] | None = None) -> tuple[Pointing, np.ndarray]:
    task = find_cue_task(table, None if named else "sst2", named, None, None, None, modelled=False)
    read = read_cue_data(table, task, None, None, 0)
    return point(read, COUNTING, None, group_texts(read.texts), only, 0), read.labels


def test_a_named_cue_points_only_where_it_is() -> None:
    table = choices(200, 80, 60)
    pointing, labels = _point(table, ["NOT"], ["first", "second"])
    assert pointing.cues == ("not",)
    assert (int((pointing.right == 1).sum()), int((pointing.right == 0).sum())) == (60, 20)
    assert ((pointing.predicted == labels) == (pointing.right == 1)).all()


def test_a_named_cue_of_sentences() -> None:
    pointing, _ = _point(sentences(200, 80, 60), ["great"])
    assert (int((pointing.right == 1).sum()), int((pointing.right == 0).sum())) == (60, 20)
    assert int((pointing.predicted == -1).sum()) == 120


def test_all_cues() -> None:
    pointing, _ = _point(choices(200, 80, 60), None, ["first", "second"])
    assert "not" in pointing.cues
    assert "both" not in pointing.cues


def test_bad_cues() -> None:
    with pytest.raises(InvalidOption, match="the cue 'nowhere'; expected words or bigrams of at least 10 texts"):
        _point(choices(), ["nowhere"], ["first", "second"])
    with pytest.raises(DataProblem, match="none of .* cues has a productivity that differs significantly"):
        _point(choices(200, 80, 40), None, ["first", "second"])
