"""The longest text that a model takes, in tokens."""

from __future__ import annotations

from typing import Any

from headcount.models.families.registry import FAMILIES


def longest_positions(model: Any) -> int | None:
    """The number of tokens that the model has positions for; None where there is no limit."""
    config = model.config
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if not positions or positions <= 0:
        return None
    family = FAMILIES.get(config.model_type)
    return int(positions) - (_position_offset(model) if family is None else family.position_offset)


def _position_offset(model: Any) -> int:
    """For a family without a record: positions begin behind the padding index of their table, if it has one."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx) + 1
    return 0


def longest_input(model: Any, tokenizer: Any, max_length: int | None = None) -> int:
    """The smallest of the limits that the config, the tokenizer and the user set; 512 without any."""
    limits = [max_length] if max_length else []
    positions = longest_positions(model)
    if positions is not None:
        limits.append(positions)
    if tokenizer.model_max_length and tokenizer.model_max_length < 10**9:
        limits.append(tokenizer.model_max_length)
    return int(min(limits)) if limits else 512
