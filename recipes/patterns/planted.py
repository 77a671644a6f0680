"""Maps whose pattern is known by construction, so that the rule is right where everyone would agree."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

LENGTHS = (10, 16, 24, 40, 80, 160)
VARIED_LENGTHS = (12, 18, 26, 40, 60, 90, 130)


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


def varied_maps(seed: int = 0, each: int = 12) -> Iterator[tuple[Tensor, str, str]]:
    """As `planted_maps`, with noise, unlike widths and strengths: what the patterns of real maps may vary in."""
    generator = torch.Generator().manual_seed(seed)
    for length in VARIED_LENGTHS:
        for stack in ("encoder", "decoder"):
            maker = _Maker(length, stack, generator)
            for _ in range(each):
                for pattern, weights in maker.one_of_each():
                    yield weights, stack, pattern


class _Maker:
    """Random parts of maps of one length, each with rows that sum to 1."""

    def __init__(self, length: int, stack: str, generator: torch.Generator) -> None:
        self.length, self.causal, self.generator = length, stack == "decoder", generator
        place = torch.arange(length).float()
        self.place, self.offset = place, place[None] - place[:, None]
        self.open = torch.ones(length, length).tril() if self.causal else torch.ones(length, length)

    def number(self, low: float, high: float) -> float:
        return low + (high - low) * float(torch.rand(1, generator=self.generator))

    def random(self, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=self.generator)

    def square(self) -> Tensor:
        return self.random(self.length, self.length)

    def normal(self, weights: Tensor) -> Tensor:
        allowed = weights * self.open
        allowed = torch.where(allowed.sum(-1, keepdim=True) > 1e-9, allowed, self.open)
        return allowed / allowed.sum(-1, keepdim=True)

    def noise(self) -> Tensor:
        return self.normal(self.square() ** self.number(1, 6))

    def line(self) -> Tensor:
        step = int(torch.randint(-2, 1 if self.causal else 3, (1,), generator=self.generator))
        width = self.number(0.3, max(1.0, 0.06 * self.length))
        band = torch.exp(-(((self.offset - step) / width) ** 2) / 2)
        return self.normal(band * (0.2 + self.square() ** self.number(0.5, 3)))

    def columns(self) -> Tensor:
        count = int(torch.randint(1, max(2, self.length // 12) + 1, (1,), generator=self.generator))
        among = max(2, self.length // 2) if self.causal else self.length
        bright = torch.zeros(self.length)
        chosen = torch.randperm(among, generator=self.generator)[:count]
        bright[chosen] = self.random(len(chosen)) + 0.3
        if self.number(0, 1) < 0.6:
            bright[0] = self.number(0.5, 2)
        if not self.causal and self.number(0, 1) < 0.4:
            bright[-1] = self.number(0.5, 2)
        return self.normal(bright[None] * self.square() ** self.number(0, 1.2))

    def block(self) -> Tensor:
        first = self.place < int(self.length * self.number(0.2, 0.8))
        same = (first[None] == first[:, None]).float()
        kind = self.number(0, 1)
        if kind < 0.35:
            inside = self.number(0.2, 1) + self.square()
        elif kind < 0.7:
            inside = (self.random(self.length)[None] ** self.number(1, 4) + 0.05) * (0.3 + self.square())
        else:
            width = self.number(0.1, 0.3) * self.length
            inside = torch.exp(-((self.offset / width) ** 2) / 2) * (0.2 + self.square() ** 2)
        return self.normal(same * inside + 0.02)

    def heterogeneous(self, line: Tensor, columns: Tensor) -> Tensor:
        kind = self.number(0, 1)
        if kind < 0.35:
            return self.noise()
        if kind < 0.6:
            fabric = (self.random(self.length)[None] ** 2 + 0.1) * self.square() ** 2
            return self.normal(fabric * (self.square() > 0.5))
        if kind < 0.8:
            width = self.number(0.2, 0.35) * self.length
            return self.normal(torch.exp(-((self.offset / width) ** 2) / 2) * self.square() ** self.number(2, 6))
        return 0.35 * line + 0.35 * self.normal(self.square() ** 8) + 0.3 * columns

    def one_of_each(self) -> Iterator[tuple[str, Tensor]]:
        rest, both = self.number(0.08, 0.5), self.number(0.35, 0.7)
        line, columns, noise = self.line(), self.columns(), self.noise()
        haze = self.normal(torch.exp(-((self.offset / (0.15 * self.length)) ** 2)))
        yield "diagonal", (1 - rest) * line + rest / 2 * (noise + haze)
        yield "vertical", (1 - rest) * columns + rest * noise
        yield "vertical+diagonal", (1 - 0.6 * rest) * (both * columns + (1 - both) * line) + 0.6 * rest * noise
        yield "block", (1 - 0.7 * rest) * self.block() + 0.7 * rest * noise
        uniform = self.normal(torch.ones(self.length, self.length))
        yield "heterogeneous", 0.9 * self.heterogeneous(line, columns) + 0.1 * uniform
