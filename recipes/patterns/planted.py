"""Maps whose pattern is known by construction, so that the rule is right where everyone would agree."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

LENGTHS = (10, 16, 24, 40, 80, 160)


def planted_maps(seed: int = 0) -> Iterator[tuple[Tensor, str, str]]:
    """Maps [token, token], the stack that has such maps, and their pattern."""
    generator = torch.Generator().manual_seed(seed)
    for length in LENGTHS:
        for stack in ("encoder", "decoder"):
            open_ = torch.ones(length, length) if stack == "encoder" else torch.ones(length, length).tril()
            for pattern, weights in _whole(length, generator):
                allowed = weights * open_
                rest = torch.where(allowed.sum(-1, keepdim=True) > 0, allowed, open_)
                yield rest / rest.sum(-1, keepdim=True), stack, pattern


def _whole(length: int, generator: torch.Generator) -> Iterator[tuple[str, Tensor]]:
    """Weights before the future is hidden and rows are made to sum to 1."""
    place = torch.arange(length)
    column = torch.zeros(length, length)
    column[:, 0] = 1
    for offset in (-1, 0):
        line = (place[None] - place[:, None] == offset).float()
        yield "diagonal", line
        yield "vertical+diagonal", line + column
    yield "vertical", column
    yield "vertical", column + 0.2 / length
    yield "heterogeneous", torch.ones(length, length)
    yield "heterogeneous", torch.rand(length, length, generator=generator) ** 4
    yield "heterogeneous", torch.rand(length, length, generator=generator) ** 20
    border = int(length * (0.3 + 0.4 * float(torch.rand(1, generator=generator))))
    first = place < border
    yield "block", (first[None] == first[:, None]).float()
    yield "block", (first[None] == first[:, None]).float() * (0.3 + torch.rand(length, length, generator=generator))
