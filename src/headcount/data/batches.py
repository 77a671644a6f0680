"""Batches of examples of similar length: a plan of row numbers, and the padded tensors of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.data.kinds.tokens import IGNORED, Encoding


def by_length(lengths: np.ndarray) -> np.ndarray:
    """The order of the examples from long to short: if memory is too small, the first batch shows it."""
    return np.argsort(-np.asarray(lengths), kind="stable")


def plan_batches(lengths: np.ndarray, tokens: int) -> list[tuple[int, int]]:
    """Ranges of `lengths` (long to short) of similar size, each of at most `tokens` padded tokens or one example.

    >>> plan_batches(np.array([4, 4, 2, 2, 2]), 8)
    [(0, 2), (2, 5)]
    >>> plan_batches(np.array([1] * 10), 9)
    [(0, 5), (5, 10)]
    """
    batches = _fill(lengths, tokens)
    if len(batches) < 2:
        return batches
    # A small remainder would cost as much as a full batch: distribute the tokens evenly over the batches.
    padded = sum(int(lengths[start]) * (stop - start) for start, stop in batches)
    even = _fill(lengths, min(tokens, -(-padded // len(batches))))
    return even if len(even) == len(batches) else batches


def _fill(lengths: np.ndarray, tokens: int) -> list[tuple[int, int]]:
    batches = []
    start = 0
    while start < len(lengths):
        rows = max(1, int(tokens // lengths[start]))
        batches.append((start, min(start + rows, len(lengths))))
        start += rows
    return batches


def collate(rows: Sequence[Encoding], padding: int, device: Any = "cpu") -> dict[str, Tensor]:
    """Tensors of a batch, padded on the right, without an attention mask if nothing is masked."""
    if isinstance(rows[0]["input_ids"][0], list):
        return _collate_choices(rows, padding, device)
    batch = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        if isinstance(values[0], list):
            filler = IGNORED if key.endswith("labels") else padding if key.endswith("input_ids") else 0
            batch[key] = _pad(values, filler)
        else:
            batch[key] = torch.as_tensor(np.array(values))
    if "attention_mask" in batch and bool(batch["attention_mask"].all()):
        del batch["attention_mask"]
    return {key: tensor.to(device, non_blocking=True) for key, tensor in batch.items()}


def _collate_choices(rows: Sequence[Encoding], padding: int, device: Any) -> dict[str, Tensor]:
    """Tensors [example, choice, token] of examples with several texts, such as multiple choice.

    Where others have more texts, an example is filled up with rows of padding, which its attention mask rules out.
    """
    keys = [key for key in rows[0] if key != "labels"]
    count = max(len(row["input_ids"]) for row in rows)
    nothing = {key: [padding if key.endswith("input_ids") else 0] for key in keys}
    flat = [
        {key: row[key][choice] for key in keys} if choice < len(row["input_ids"]) else nothing
        for row in rows
        for choice in range(count)
    ]
    batch = {key: tensor.unflatten(0, (-1, count)) for key, tensor in collate(flat, padding, device).items()}
    if "labels" in rows[0]:
        batch["labels"] = torch.as_tensor(np.array([row["labels"] for row in rows])).to(device)
    return batch


def _pad(values: Sequence[Sequence[int]], filler: int) -> Tensor:
    width = max(map(len, values))
    return torch.tensor([[*value, *[filler] * (width - len(value))] for value in values])
