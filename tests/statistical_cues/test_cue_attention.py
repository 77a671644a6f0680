"""Attention to cue words: where it cannot be told, one line says why (the numbers are in test_cue_heads.py)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headcount.statistical_cues.cue_attention import CueAttention, why_not


def test_why_not() -> None:
    fast: Any = SimpleNamespace(is_fast=True)
    one_stack: Any = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=False))
    two_stacks: Any = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=True))
    assert why_not(one_stack, fast) == ""
    assert "encoder-decoder" in why_not(two_stacks, fast)
    assert "SimpleNamespace does not tell" in why_not(one_stack, SimpleNamespace())


def test_every_variable_has_a_meaning() -> None:
    assert set(CueAttention.schemas) == {"attention", "uniform", "gain"}
