"""Batches hold every example once, within the budget, padded right."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from headcount.data.batches import by_length, collate, plan_batches


@example([1] * 11 + [6], 4)  # one long text must not raise the budget of the others
@given(st.lists(st.integers(1, 60), min_size=1, max_size=200), st.integers(1, 500))
def test_every_example_once_and_within_the_budget(lengths: list[int], tokens: int) -> None:
    order = by_length(np.array(lengths))
    ordered = np.array(lengths)[order]
    assert sorted(order.tolist()) == list(range(len(lengths)))
    batches = plan_batches(ordered, tokens)
    assert [row for start, stop in batches for row in range(start, stop)] == list(range(len(lengths)))
    for start, stop in batches:
        assert stop - start == 1 or ordered[start] * (stop - start) <= tokens


def test_padding_and_masks() -> None:
    rows = [
        {"input_ids": [5, 6, 7], "attention_mask": [1, 1, 1], "labels": 1},
        {"input_ids": [8], "attention_mask": [1], "labels": 0},
    ]
    batch = collate(rows, padding=9)
    assert batch["input_ids"].tolist() == [[5, 6, 7], [8, 9, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert torch.equal(batch["labels"], torch.tensor([1, 0]))
    assert "attention_mask" not in collate(rows[:1], padding=9)
