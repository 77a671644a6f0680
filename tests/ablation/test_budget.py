"""Budgets: within the memory, at least one token and one variant."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headcount.ablation.budget import parse_memory, pays_to_compile, plan_budget
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


@pytest.mark.parametrize(
    ("device", "tokens", "pays"), [("cuda", 4096, True), ("cuda", 64, False), ("cpu", 4096, False)]
)
def test_only_long_sweeps_on_a_gpu_are_compiled_unasked(device: str, tokens: int, pays: bool) -> None:
    """8 billion weights and 1,024 variants: minutes for 4,096 tokens, seconds for 64."""
    weights = SimpleNamespace(numel=lambda: 8_000_000_000)
    model = SimpleNamespace(device=SimpleNamespace(type=device), parameters=lambda: [weights])
    assert pays_to_compile(model, tokens, 1024) is pays
