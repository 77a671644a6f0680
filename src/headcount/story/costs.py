"""Where the time of a model goes, and how much pruning heads can save at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NOTICEABLE = 1.1
"""Smaller speed-ups are not reported."""


def cost_sentences(costs: pd.DataFrame, attention_share: float, two: bool) -> list[str]:
    """The share of time spent in attention, and how a second model compares with what its weights promise."""
    largest = costs[(costs.batch == costs.batch.max()) & (costs.length == costs.length.max())]
    length = f" x {costs.length.max()}" if costs.length.max() else ""
    lines = [
        f"At {costs.batch.max()}{length} attention takes {attention_share:.0%} of the time, so pruning heads can make "  # noqa: ISC004
        f"the model at most {1 / (1 - attention_share):.2f} times as fast; feed-forward layers, embeddings and output "
        "do not change."
    ]
    if two:
        first, second = largest.iloc[0], largest.iloc[1]
        kept = second.attention_parameters / first.attention_parameters
        bound = 1 / (1 - attention_share * (1 - kept))
        lines.append(
            f"The second model keeps {kept:.0%} of the attention weights and is {first.ms / second.ms:.2f} times as "
            f"fast; in proportion to its weights it would be {bound:.2f} times."
        )
    return lines


def speed_clause(costs: pd.DataFrame, before: str, after: str) -> str:
    """The end of a sentence on the time of a batch; empty if a user would not notice the difference."""
    whole, cut = (costs[costs.model == name].iloc[0] for name in (before, after))
    ratio = whole.ms / cut.ms
    if ratio < NOTICEABLE or cut.ms_high >= whole.ms_low:
        return ""
    return f"; {int(whole.batch)} texts of {int(whole.length)} tokens are read {ratio:.2f} times as fast"
