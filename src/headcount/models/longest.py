"""How many tokens a model takes."""

from __future__ import annotations

from typing import Any

from headcount.models.families.registry import FAMILIES


def longest_positions(model: Any) -> int | None:
    """How many tokens the model's positions allow, if there is a limit."""
    config = model.config
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if not positions or positions <= 0:
        return None
    family = FAMILIES.get(config.model_type)
    return int(positions) - (_position_offset(model) if family is None else family.position_offset)


def _position_offset(model: Any) -> int:
    """Without a record: a table of positions that has a padding index begins behind it."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx) + 1
    return 0


def longest_input(model: Any, tokenizer: Any, asked: int | None = None) -> int:
    """How many tokens the model takes: the least of what its config, its tokenizer and the user say."""
    limits = [asked] if asked else []
    positions = longest_positions(model)
    if positions is not None:
        limits.append(positions)
    if tokenizer.model_max_length and tokenizer.model_max_length < 10**9:
        limits.append(tokenizer.model_max_length)
    return int(min(limits)) if limits else 512
