"""Where the tokens of a text stood before: pairs of a token and an earlier one that is the same."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

MOST = 1 << 23
"""Pairs that are kept: three numbers each."""


class Occurrences(NamedTuple):
    """Pairs of positions, as three tensors of one length."""

    example: Tensor
    query: Tensor
    key: Tensor
    """The earlier position."""


def earlier_occurrences(token: Tensor, most: int = MOST) -> Occurrences:
    """All pairs of equal tokens of a batch [example, token]; -1 is equal to nothing.

    Equal tokens are brought side by side by sorting, so that nothing of the size of a map is built. Where there would
    be more than `most` pairs, as in a very long text of few different tokens, each token is paired with its latest
    earlier occurrences only, with as many as keep to the limit.

    >>> earlier_occurrences(torch.tensor([[7, 5, 7, 7, -1, -1]]))[1:]
    (tensor([2, 3, 3]), tensor([0, 0, 2]))
    """
    example, position = (token >= 0).nonzero(as_tuple=True)
    ids = token[example, position]
    group = torch.unique(torch.stack((example, ids)), dim=1, return_inverse=True)[1]
    order = group.argsort(stable=True)
    example, position, group = example[order], position[order], group[order]
    index = torch.arange(len(group), device=token.device)
    sizes = torch.bincount(group) if len(group) else group
    starts = (sizes.cumsum(0) - sizes)[group]
    before = index - starts  # how many of the group stand earlier
    paired = _limited(before, most)
    later = index.repeat_interleave(paired)
    first_pair = paired.cumsum(0) - paired
    earlier = later - paired[later] + torch.arange(len(later), device=token.device) - first_pair[later]
    return Occurrences(example[later], position[later], position[earlier])


def _limited(before: Tensor, most: int) -> Tensor:
    """How many earlier occurrences each token is paired with."""
    latest = int(before.max()) if len(before) else 0
    while latest > 1 and int(before.clamp(max=latest).sum()) > most:
        latest //= 2
    return before.clamp(max=latest)
