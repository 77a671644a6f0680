"""Screening: planted heads are ranked first, the control is a random sample of the others, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.choosing.screen import ESTIMATES, select_heads
from headcount.core.heads import Head
from headcount.errors import InvalidOption
from tests import planted

ORDER = tuple(Head("encoder", layer, head) for layer in range(5) for head in range(10))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_planted_heads_come_first(tokenizer: Any, estimate: str) -> None:
    found = hc.screen(planted.classifier(), tokenizer, planted.texts(), task="sst2", estimate=estimate, top=2)
    assert set(found.top) == {Head("encoder", 0, 0), Head("encoder", 0, 1)}
    assert set(found.control) == {Head("encoder", 1, 0), Head("encoder", 1, 1)}, "no more than there are"
    assert (found.estimate, found.of) == (estimate, 4)


def test_the_last_of_an_order_are_top_and_the_control_is_drawn_from_the_others() -> None:
    drawn = np.zeros(50)
    for seed in range(600):
        found = select_heads(ORDER, "importance", 10, 8, seed)
        assert found.top == tuple(reversed(ORDER[40:])), "the most needed first"
        assert len(set(found.control)) == 8
        drawn[[ORDER.index(head) for head in found.control]] += 1
    assert not drawn[40:].any()
    assert abs(drawn[:40] - 600 * 8 / 40).max() < 60, "each equally often (120 times; five standard errors are 49)"


def test_a_control_of_the_usual_size() -> None:
    assert len(select_heads(ORDER, "importance", 10, None, 0).control) == 32
    assert len(select_heads(ORDER, "importance", 30, None, 0).control) == 20
    assert not select_heads(ORDER, "importance", 30, 0, 0).control


def test_a_study_keeps_the_ranking(tokenizer: Any, tmp_path: Path) -> None:
    def run() -> Any:
        return hc.screen(planted.classifier(), tokenizer, planted.texts(40), task="sst2", top=1, out=tmp_path / "study")

    first = run()
    assert set(hc.open_study(tmp_path / "study")["pruning"].children) == {"importance"}
    assert run() == first


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"top": 4}, "got top=4; expected fewer than the 4 heads"),
        ({"top": 0}, "got top=0; expected at least 1"),
        ({"top": 2, "control": 3}, "got control=3; expected at most 2"),
        ({"top": 2, "control": -1}, "got control=-1; expected at least 0"),
        ({"top": 2, "estimate": "luck"}, "got estimate='luck'; expected one of importance, taylor, norm"),
        ({"top": 2, "stack": "cross"}, "got the stack 'cross'; the model has encoder"),
    ],
)
def test_refused_before_anything_is_computed(tokenizer: Any, tmp_path: Path, options: Any, said: str) -> None:
    with pytest.raises(InvalidOption) as error:
        hc.screen(planted.classifier(), tokenizer, planted.texts(), task="sst2", out=tmp_path / "study", **options)
    assert said in str(error.value)
    assert not (tmp_path / "study").exists()
