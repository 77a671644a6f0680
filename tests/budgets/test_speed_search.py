"""Does the search for a speed end, with a share that the table allows, and is it read where a study has it?"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.budgets import speed_search
from headcount.budgets.budget import Budget
from headcount.budgets.options import PartOptions
from headcount.budgets.planner import Planner
from headcount.budgets.speed_search import reach_speed
from headcount.costs.operations import part_costs
from headcount.errors import InvalidOption
from tests.budgets import small


@pytest.fixture(scope="module")
def model() -> Any:
    """Wide enough that its parts take nearly all of the time."""
    torch.manual_seed(0)
    config = tf.BertConfig(
        vocab_size=20, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=1024
    )
    return tf.BertModel(config).eval()


def prepared(model: Any, faster: float) -> tuple[Planner, PartOptions]:
    """Operations stand for times, as they nearly are in a model like this one."""
    options = PartOptions("both", Budget.parse(faster=faster), batch=4, length=64)
    costs = part_costs(model, 64)
    planner = Planner(
        hc.read_anatomy(model), "time", small.scores_of(model), None, costs.operations, costs.fixed_operations, 32
    )
    return planner, options


def test_a_speed_is_reached(model: Any) -> None:
    """Far from the asked one, so that a busy machine reaches it, too."""
    planner, options = prepared(model, 1.2)
    share = reach_speed(model, planner, options, None, None)
    assert planner.least("both") <= share <= 1
    smaller = hc.prune(copy.deepcopy(model), planner.best("both", share))
    assert small.operations_left(smaller, model, 64) <= share * (1 + 1e-9)


def test_it_is_measured_once(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted_times(monkeypatch, (0.1, 0.9))
    planner, options = prepared(model, 1.2)
    share = reach_speed(model, planner, options, tmp_path / "study", "a")
    monkeypatch.setattr(speed_search, "time_both", lambda *_: pytest.fail("measured again"))
    assert reach_speed(model, planner, options, tmp_path / "study", "a") == share


def planted_times(monkeypatch: pytest.MonkeyPatch, *lines: tuple[float, float]) -> list[float]:
    """Times by planted lines (offset and slope over the operations left), one for each model that is timed, the last
    for all others; returned are the shares of operations that were timed."""
    asked: list[float] = []

    def times(whole: Any, smaller: Any, *_: int) -> tuple[np.ndarray, np.ndarray]:
        offset, slope = lines[min(len(asked), len(lines) - 1)]
        asked.append(small.operations_left(smaller, whole, 64))
        return np.array([1.0]), np.array([offset + slope * asked[-1]])

    monkeypatch.setattr(speed_search, "time_both", times)
    return asked


def test_a_slower_model_is_cut_further(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left takes a tenth of the whole time more than the table says."""
    asked = planted_times(monkeypatch, (0.1, 0.9))
    planner, options = prepared(model, 2)
    share = reach_speed(model, planner, options, None, None)
    assert share < 0.5
    assert (0.1 + 0.9 * asked[-1]) * speed_search.SLACK <= 0.5
    assert small.operations_left(hc.prune(copy.deepcopy(model), planner.best("both", share)), model, 64) == asked[-1]


def test_a_faster_model_keeps_more(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left takes four fifths of what the table says."""
    asked = planted_times(monkeypatch, (0.0, 0.8))
    share = reach_speed(model, *prepared(model, 2), None, None)
    assert 0.5 < share <= 0.64
    assert 0.5 * speed_search.NEAR <= 0.8 * asked[-1] <= 0.5 / speed_search.SLACK


def test_a_share_that_was_fast_enough_is_not_lost(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disturbed second measurement: the search goes on between it and the first one, which was fast enough."""
    asked = planted_times(monkeypatch, (0.0, 0.8), (0.5, 0.8), (0.0, 0.8))
    share = reach_speed(model, *prepared(model, 2), None, None)
    assert share >= 0.5
    assert asked[0] < asked[2] < asked[1]


def test_a_speed_that_is_not_reached(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    planted_times(monkeypatch, (0.8, 0.0))
    with pytest.raises(InvalidOption, match=r"got faster=2; the model could be made 1\.25 times as fast at 4 x 64"):
        reach_speed(model, *prepared(model, 2), None, None)
