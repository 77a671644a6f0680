"""Gradient checkpointing under the name that this version of transformers has for it."""

from __future__ import annotations

from typing import Any


def switch_on(model: Any, **options: Any) -> None:
    """`activation_checkpointing_enable` since transformers 5.23, `gradient_checkpointing_enable` before."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable(options or None)


def switch_off(model: Any) -> None:
    (getattr(model, "activation_checkpointing_disable", None) or model.gradient_checkpointing_disable)()
