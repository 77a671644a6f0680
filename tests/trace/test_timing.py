"""Each span is timed, calls inside calls too, and no hook stays, also after an exception."""

from __future__ import annotations

from itertools import count

import pytest
import torch
from torch import nn

from headcount.trace.timing import timed_spans


def test_calls_inside_calls() -> None:
    inner = nn.Linear(2, 2)
    outer, ticks = nn.Sequential(inner, inner), count()
    with timed_spans([(outer, outer), (inner, inner)], lambda: float(next(ticks))) as durations:
        outer(torch.ones(2))
    assert durations == [1, 1, 5]  # from 1 to 2, from 3 to 4, from 0 to 5
    outer(torch.ones(2))
    assert len(durations) == 3


def test_a_span_includes_what_lies_between() -> None:
    first, last, ticks = nn.Linear(2, 2), nn.Linear(2, 2), count()

    class Between(nn.Module):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            next(ticks)
            return states

    with timed_spans([(first, last)], lambda: float(next(ticks))) as durations:
        nn.Sequential(first, Between(), last)(torch.ones(2))
    assert durations == [2]


def test_no_hook_stays() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError), timed_spans([(layer, layer)], lambda: 0.0):
        layer(torch.ones(3))
    assert not layer._forward_hooks
    assert not layer._forward_pre_hooks
