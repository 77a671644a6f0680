"""Rows of an answer: probabilities of both models, what was left out, and whether the best option is another one."""

from __future__ import annotations

import pytest
import torch

from headcount.data.kinds.typed import Question
from headcount.live_server.answer_rows import answer_rows

WHOLE = torch.tensor([[0.5, 0.3, 0.1, 0.1]]).double().log()
OTHER = torch.tensor([[0.1, 0.2, 0.1, 0.6]]).double().log()


def names(options: list[int]) -> list[str]:
    return [f"word {option}" for option in options]


def test_the_best_of_both_are_listed() -> None:
    (row,) = answer_rows([Question("next token", 3)], WHOLE, OTHER, 1, names, probabilities=True)
    assert [option["name"] for option in row["options"]] == ["word 0", "word 3"]
    assert row["options"][1]["whole"] == pytest.approx(0.1)
    assert row["options"][1]["without"] == pytest.approx(0.6)
    assert row["options"][1]["difference"] == pytest.approx(0.5)
    assert row["rest"]["whole"] == pytest.approx(0.4)
    assert row["rest"]["without"] == pytest.approx(0.3)
    assert row["changed"] is True
    assert row["position"] == 3


def test_without_heads_that_are_off_there_is_no_difference() -> None:
    (row,) = answer_rows([Question("class")], WHOLE, None, 10, names, probabilities=True)
    assert [option["option"] for option in row["options"]] == [0, 1, 2, 3], "classes stay in their order"
    assert "without" not in row["options"][0]
    assert "difference" not in row["options"][0]
    assert row["changed"] is False


def test_numbers_are_no_probabilities() -> None:
    (row,) = answer_rows([Question("score")], torch.tensor([[2.5]]), torch.tensor([[-1.0]]), 10, names, False)
    assert row["options"] == [{"option": 0, "name": "word 0", "whole": 2.5, "without": -1.0, "difference": -3.5}]
    assert "rest" not in row
    assert row["changed"] is False
