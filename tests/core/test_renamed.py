"""Earlier names of options in Python are refused with the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headcount as hc
from headcount.errors import InvalidOption
from headcount.training.trainer import EARLIER, Settings

OLD: list[tuple[Callable[..., Any], str, str]] = [
    (hc.sweep, "beams", "num_beams"),
    (hc.sweep, "max_new_tokens", "generate="),
    (hc.sweep, "batch_tokens", "compute=Compute"),
    (hc.sweep, "shard", "compute=Compute"),
    (hc.sweep, "draws", "by=RandomSets"),
    (hc.sweep, "sets", "by=: a list"),
    (hc.sweep, "stack", "in by=Every"),
    *[(verb, "batch_tokens", "compute=Compute") for verb in (hc.measure, hc.compare, hc.find_patterns, hc.importance)],
    (hc.learn_gates, "rate", "learning_rate="),
    (hc.learn_gates, "stacks", "stack="),
    (hc.learn_gates, "strengths", "price="),
    (hc.learn_gates, "weight_learning_rate", "train_weights="),
    (hc.recover, "steps", "max_steps="),
    (hc.curve, "orders", "order="),
    (hc.dynamics, "max_new_tokens", "generate="),
    (hc.finetune, "inits", "init="),
    *[(Settings, old, f"{new}=") for old, new in EARLIER.items()],
]


@pytest.mark.parametrize(("function", "old", "new"), OLD)
def test_the_message_has_the_new_name(function: Callable[..., Any], old: str, new: str) -> None:
    with pytest.raises(InvalidOption, match=f"got {old}=, which is now .*{new}"):
        function(**{old: 1})
