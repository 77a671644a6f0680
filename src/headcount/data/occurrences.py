"""Which tokens of a text are the same, as labels of queries and keys: nothing of the size of a map is built."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Matches(NamedTuple):
    """Labels [B, token], int32, of tokens that look for others and of those they may find; -1 is equal to nothing."""

    queries: Tensor
    keys: Tensor
    counts: Tensor
    """How many each finds, with its label, [B, token]."""


def small_labels(ids: Tensor) -> Tensor:
    """The same labels counted from 0, int32, for whole numbers of any size; negative ones are -1.

    >>> small_labels(torch.tensor([[7, 2**40, 7, -1]])).tolist()
    [[1, 2, 1, -1]]
    """
    ranks = torch.unique(ids.clamp(min=-1), return_inverse=True)[1]
    return torch.where(ids < 0, -1, ranks).int()


def earlier_matches(token: Tensor, readable: Tensor, distance: int = 0) -> Matches:
    """For each token, the readable ones before it that stand `distance` after the same token; -1 is equal to nothing.

    >>> token = torch.tensor([[7, 5, 7, 7, -1]])
    >>> earlier_matches(token, token >= 0).counts.tolist(), earlier_matches(token, token >= 0, 1).counts.tolist()
    ([[0, 0, 1, 2, 0]], [[0, 0, 1, 1, 0]])
    """
    labels = small_labels(token)
    before = labels.roll(distance, 1)
    before[:, :distance] = -1
    keys = torch.where(readable, before, -1)
    return Matches(labels, keys, count_earlier(labels, keys))


def matches_across(form: Tensor, segment: Tensor) -> Matches:
    """For each word of a pair of texts, the tokens of the same word in the other text; segments are 0 and 1.

    >>> matches_across(torch.tensor([[4, 9, 4, 4]]), torch.tensor([[0, 0, 1, 1]])).counts.tolist()
    [[2, 0, 1, 1]]
    """
    labels = small_labels(form)
    queries, keys = (torch.where(labels < 0, -1, 2 * labels + text).int() for text in (segment, 1 - segment))
    ends = torch.full((1, queries.shape[1]), keys.shape[1], device=form.device)
    return Matches(queries, keys, count_earlier(queries, keys, ends))


def count_earlier(queries: Tensor, keys: Tensor, ends: Tensor | None = None) -> Tensor:
    """How many keys before each query, or before position `ends` [B or 1, Q], have its label [B, Q]; exact."""
    width = keys.shape[1]
    labels = 1 + torch.maximum(queries.amax(), keys.amax()).long()
    row = torch.arange(len(keys), device=keys.device)[:, None] * labels
    place = torch.arange(width, device=keys.device)
    # One number for each label of a text and position, so that sorting brings equal labels side by side.
    codes = torch.where(keys < 0, torch.iinfo(torch.int64).max, (row + keys) * (width + 1) + place)
    codes = codes.flatten().sort().values
    first = (row + queries.clamp(min=0)) * (width + 1)
    last = first + (torch.arange(queries.shape[1], device=keys.device) if ends is None else ends).clamp(max=width)
    return torch.where(queries < 0, 0, torch.searchsorted(codes, last) - torch.searchsorted(codes, first))
