"""Where the time of a model goes, and how much pruning heads and feed-forward units can save at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NOTICEABLE = 1.1
"""Smaller speed-ups are not reported."""
LARGEST = 10
"""Larger limits of the speed are not told apart: a hundredth of the time more or less would change them."""


def cost_sentences(
    costs: pd.DataFrame, attention_share: float, feed_forward_share: float | None, two: bool
) -> list[str]:
    """Where the time goes and what cuts can win, and how a second model compares with what its weights promise.

    `feed_forward_share`: None where the feed-forward layers are not known.
    """
    largest = costs[(costs.batch == costs.batch.max()) & (costs.length == costs.length.max())]
    length = f" x {costs.length.max()}" if costs.length.max() else ""
    heads = f"At {costs.batch.max()}{length} attention takes {attention_share:.0%} of the time"
    faster = f"so pruning heads can make the model at most {_limit(attention_share)} as fast"
    if feed_forward_share is None:
        line = f"{heads}, {faster}; feed-forward layers, embeddings and output do not change."
    else:
        line = (
            f"{heads} and feed-forward layers take {feed_forward_share:.0%}, {faster}, and pruning heads and "
            f"feed-forward units {_limit(attention_share + feed_forward_share)}; embeddings, norms and output do not "
            "change."
        )
    return [line, _second(largest, attention_share, feed_forward_share or 0.0)] if two else [line]


def _limit(share: float) -> str:
    """How many times as fast a model is without a share of its time; near 1, noise decides on the number.

    >>> _limit(0.5), _limit(0.98)
    ('2.00 times', 'more than 10 times')
    """
    return f"{1 / (1 - share):.2f} times" if share <= 1 - 1 / LARGEST else f"more than {LARGEST} times"


def _second(rows: pd.DataFrame, attention_share: float, feed_forward_share: float) -> str:
    """What the second model keeps, and how fast it is."""
    first, second = rows.iloc[0], rows.iloc[1]
    shares = {"attention": attention_share, "feed_forward": feed_forward_share}
    kept = {
        part: second[f"{part}_parameters"] / first[f"{part}_parameters"]
        for part in shares
        if first.get(f"{part}_parameters")
    }
    changed = [part for part, share in kept.items() if share != 1] or ["attention"]
    words = " and ".join(f"{kept[part]:.0%} of the {part.replace('_', '-')} weights" for part in changed)
    bound = 1 / (1 - sum(shares[part] * (1 - kept[part]) for part in kept))
    return (
        f"The second model keeps {words} and is {first.ms / second.ms:.2f} times as fast; in proportion to its weights "
        f"it would be {bound:.2f} times."
    )


def speed_clause(costs: pd.DataFrame, before: str, after: str) -> str:
    """The end of a sentence on the time of a batch; empty if a user would not notice the difference."""
    whole, cut = (costs[costs.model == name].iloc[0] for name in (before, after))
    ratio = whole.ms / cut.ms
    if ratio < NOTICEABLE or cut.ms_high >= whole.ms_low:
        return ""
    return f"; {int(whole.batch)} texts of {int(whole.length)} tokens are read {ratio:.2f} times as fast"
