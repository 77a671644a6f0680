"""A hook's copies do nothing; hooks of a context are gone after it."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn

from headcount.trace.hooks import AttributeOverride, Hook, hooked


def test_copies_are_inert() -> None:
    hook = Hook(lambda: 3)
    assert hook() == 3
    for other in (copy.copy(hook), copy.deepcopy(hook), pickle.loads(pickle.dumps(hook))):
        assert other() is None


def test_hooks_of_a_context() -> None:
    layer, other = nn.Linear(2, 2), nn.Linear(2, 2)
    events: list[str] = []
    with hooked([layer], lambda *_: events.append("before"), lambda *_: events.append("after")):
        layer(torch.ones(2))
        other(torch.ones(2))
    layer(torch.ones(2))
    assert events == ["before", "after"]
    with pytest.raises(RuntimeError), hooked([layer, other], after=lambda *_: events.append("never")):
        layer(torch.ones(3))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in (layer, other))
    assert len(events) == 2


class Doubled(AttributeOverride):
    def __call__(self, number: int) -> int:
        return 2 * int(self.original(number))


def test_an_overridden_function() -> None:
    module = nn.Module()
    module.function = abs
    override = Doubled(module, "function")
    assert module.function(-3) == 6
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other.function is abs
    override.restore()
    assert module.function is abs
    override = Doubled(module, "function")
    module.function = len  # by somebody else
    override.restore()
    assert module.function is len
