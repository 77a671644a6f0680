"""Budgets: within the memory, at least one token and one variant."""

from __future__ import annotations

from headcount.ablation.budget import parse_memory, plan_budget
from headcount.models.anatomy import read_anatomy
from tests.contracts.zoo import tiny


def test_sizes() -> None:
    assert parse_memory("500MB") == 500 * 2**20
    assert parse_memory("2 GiB") == 2**31
    assert parse_memory(7) == 7


def test_little_memory_means_small_passes() -> None:
    model = tiny("bert")
    anatomy = read_anatomy(model)
    wide = plan_budget(model, anatomy, False, 12, 2**30, None, 64)
    small = plan_budget(model, anatomy, False, 12, 100_000, None, 64)
    least = plan_budget(model, anatomy, True, 12, 1, None, 64)
    assert wide.width == 12
    assert small.width < 12 or small.tokens < wide.tokens
    assert (least.tokens, least.width) == (1, 1)
