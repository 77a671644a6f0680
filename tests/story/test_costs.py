"""What a cut of heads can win, in sentences that hold no more than their numbers."""

from __future__ import annotations

import pandas as pd

from headcount.story.costs import cost_sentences


def costs(**after: float) -> pd.DataFrame:
    """Two models at two shapes, the second one's numbers times those given."""
    rows = [
        {
            "model": model,
            "batch": batch,
            "length": 512,
            "ms": 100.0 * batch,
            "attention_parameters": 2_000_000.0,
            "feed_forward_parameters": 4_000_000.0,
        }
        for batch in (1, 64)
        for model in ("before", "after")
    ]
    table = pd.DataFrame(rows)
    for name, factor in after.items():
        table.loc[table["model"] == "after", name] *= factor
    return table


def test_what_a_cut_can_win() -> None:
    """In proportion: of a third of the time, half goes."""
    first, second = cost_sentences(costs(attention_parameters=0.5, ms=0.5), 1 / 3, 0.5, two=True)
    assert first.startswith("At 64 x 512 attention takes 33% of the time and feed-forward layers take 50%, so pruning")
    assert "heads can make the model at most 1.50 times as fast, and pruning heads and feed-forward units 6.00" in first
    assert "keeps 50% of the attention weights and is 2.00 times as fast" in second
    assert "it would be 1.20 times" in second


def test_one_model_is_compared_with_none() -> None:
    (line,) = cost_sentences(costs(), 0.5, None, two=False)
    assert "at most 2.00 times as fast; feed-forward layers, embeddings and output do not change" in line


def test_a_model_without_a_length() -> None:
    assert cost_sentences(costs().assign(length=0), 0.5, 0.25, two=False)[0].startswith("At 64 attention takes 50%")


def test_units_that_are_gone() -> None:
    """Of a quarter of the time half goes, of half of the time three quarters."""
    table = costs(attention_parameters=0.5, feed_forward_parameters=0.25, ms=0.5)
    _, second = cost_sentences(table, 0.25, 0.5, two=True)
    assert "keeps 50% of the attention weights and 25% of the feed-forward weights and is 2.00" in second
    assert "it would be 2.00 times" in second
    _, second = cost_sentences(costs(feed_forward_parameters=0.25), 0.25, 0.5, two=True)
    assert "keeps 25% of the feed-forward weights and is 1.00" in second


def test_costs_of_an_earlier_version() -> None:
    earlier = costs(attention_parameters=0.5).drop(columns="feed_forward_parameters")
    _, second = cost_sentences(earlier, 0.5, 0.25, two=True)
    assert "keeps 50% of the attention weights and is 1.00" in second
