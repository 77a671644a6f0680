"""What a cut of heads can win, in sentences that hold no more than their numbers."""

from __future__ import annotations

import pandas as pd

from headcount.story.costs import cost_sentences


def costs(**after: float) -> pd.DataFrame:
    """Two models at two shapes, the second one's numbers times those given."""
    rows = [
        {"model": model, "batch": batch, "length": 512, "ms": 100.0 * batch, "attention_parameters": 2_000_000.0}
        for batch in (1, 64)
        for model in ("before", "after")
    ]
    table = pd.DataFrame(rows)
    for name, factor in after.items():
        table.loc[table["model"] == "after", name] *= factor
    return table


def test_what_a_cut_can_win() -> None:
    """In proportion: of a third of the time, half goes."""
    first, second = cost_sentences(costs(attention_parameters=0.5, ms=0.5), 1 / 3, two=True)
    assert first.startswith("At 64 x 512 attention takes 33% of the time, so pruning heads can make the model at most")
    assert "1.50 times as fast" in first
    assert "keeps 50% of the attention weights and is 2.00 times as fast" in second
    assert "it would be 1.20 times" in second


def test_one_model_is_compared_with_none() -> None:
    (line,) = cost_sentences(costs(), 0.5, two=False)
    assert "at most 2.00 times as fast" in line


def test_a_model_without_a_length() -> None:
    assert cost_sentences(costs().assign(length=0), 0.5, two=False)[0].startswith("At 64 attention takes 50%")
