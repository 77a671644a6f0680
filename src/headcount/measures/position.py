"""Does a head look at the token before, the token after, the token itself, or at another fixed distance?"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from headcount.core.schema import Schema
from headcount.measures.contract import (
    CHANCE,
    SHARE,
    Question,
    Schemas,
    Seen,
    Setting,
    Values,
    chance_of,
    share_of_attention,
)
from headcount.trace.uniform_shares import uniform_diagonal
from headcount.trace.view import AttentionView

OFFSETS = list(range(-8, 9))
NEAR = {"previous": -1, "same": 0, "next": 1}
POSITIONAL = 0.9
"""Voita's threshold: the head's largest weight stands at one offset that often."""


class Position(Question):
    """Attention at every offset from -8 to 8: the mean over the tokens that have a token there.

    `largest_at`: how often the largest weight stands at the offset, in the texts where at least half of the tokens have
    a token there. Offsets of cross attention mean nothing: NaN.
    """

    name = "position"
    summary = "attention to the previous, same and next token and to offsets -8..8; positional heads"
    paper = "Clark 2019, Fig 2; Voita 2019, positional heads"
    schemas: ClassVar[Schemas] = {
        "previous": share_of_attention(
            "the previous token", role="previous token", baseline="previous_chance", rank=1, main=True
        ),
        "next": share_of_attention("the next token", role="next token", baseline="next_chance", rank=2),
        "same": share_of_attention("the token itself", role="the token itself", baseline="same_chance", rank=3),
        "previous_chance": chance_of("the previous token"),
        "next_chance": chance_of("the next token"),
        "same_chance": chance_of("the token itself"),
        "attention": Schema("Attention by offset", SHARE, "high: looks so many tokens away", (0, 1), shown=False),
        "largest_at": Schema("Largest weight by offset", "share of tokens", "high: a habit", (0, 1), shown=False),
        "best_share": Schema("Tokens that look to one offset", "share of tokens", "0.9 or more: positional", (0, 1)),
        "best_offset": Schema(
            "The offset looked at most", "tokens", "-1: the previous token, +1: the next", (-8, 8), signed=True
        ),
        "positional": Schema("Positional head", "", "nine tokens of ten look to the same offset", names=("no", "yes")),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {
            **dict.fromkeys((*NEAR, *(f"{name}{CHANCE}" for name in NEAR)), ()),
            "attention": ("offset",),
            "largest_at": ("offset",),
        }

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"offset": OFFSETS}

    def see(self, seen: Seen) -> Values:
        view, real = seen.view, seen.queries.real
        if seen.stack == "cross":
            empty = torch.full((*view.total.shape[:2], len(OFFSETS)), float("nan"), device=real.device)
            return {
                **dict.fromkeys((*NEAR, *(f"{name}{CHANCE}" for name in NEAR)), empty[..., 0]),
                "attention": empty,
                "largest_at": empty,
            }
        width = real.shape[1]
        position = torch.arange(width, device=real.device)
        offset_of_largest = view.column_of_largest - position
        diagonals = [view.diagonal(offset) for offset in OFFSETS]
        if view.is_asking:
            return {}
        both = seen.queries.once("tokens at offsets", lambda: _both(real))  # [B, 1, offset, Q]
        count = both.sum(-1)  # 0 where a text is too short for an offset: NaN
        entries = torch.stack([_at_queries(*pair, width) for pair in zip(diagonals, OFFSETS, strict=True)], 2)
        by_offset = (entries * both).sum(-1) / count
        share = torch.stack([((offset_of_largest == one) * both[:, :, n]).sum(-1) for n, one in enumerate(OFFSETS)], -1)
        # An offset that few tokens of a short text have says nothing about a habit.
        habit = (count > 0) & (2 * count >= real.sum(-1)[:, None, None])
        largest_at = torch.where(habit, share / count, float("nan"))
        chances = {offset: _chance(view, offset, both, count) for offset in NEAR.values()}
        middle = OFFSETS.index(0)
        return {
            **{name: by_offset[..., middle + offset] for name, offset in NEAR.items()},
            **{f"{name}{CHANCE}": chances[offset] for name, offset in NEAR.items()},
            "attention": by_offset,
            "largest_at": largest_at,
        }

    def finish(self, means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        shares = np.nan_to_num(means["largest_at"], nan=-1.0)
        best = shares.argmax(-1)
        share = np.take_along_axis(shares, best[..., None], -1)[..., 0]
        known = share >= 0
        return {
            "best_offset": np.where(known, np.array(OFFSETS)[best], np.nan),
            "best_share": np.where(known, share, np.nan),
            "positional": np.where(known, share >= POSITIONAL, np.nan),
        }


def _both(real: Tensor) -> Tensor:
    """For each offset, the queries that are tokens and have one there [B, 1, offset, Q]."""
    width = real.shape[1]
    place = torch.arange(width, device=real.device) + torch.tensor(OFFSETS, device=real.device)[:, None]
    there = real[:, place.clamp(0, width - 1)] * ((place >= 0) & (place < width))
    return (real[:, None] * there)[:, None]


def _at_queries(diagonal: Tensor, offset: int, width: int) -> Tensor:
    """A diagonal [B, H, Q - |offset|] at its queries [B, H, Q], 0 where a query has no such key."""
    start = min(width, max(0, -offset))
    return torch.nn.functional.pad(diagonal, (start, width - start - diagonal.shape[-1]))


def _chance(view: AttentionView, offset: int, both: Tensor, count: Tensor) -> Tensor:
    """What an offset gets by chance [B, H]: its share of uniform attention, where there is a token."""
    number = OFFSETS.index(offset)
    uniform = _at_queries(uniform_diagonal(view.call, offset), offset, both.shape[-1])
    chance = (uniform * both[:, :, number]).sum(-1) / count[..., number]
    return chance.expand(*view.total.shape[:2])
