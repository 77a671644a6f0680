"""Does a head look at the token before, the token after, the token itself, or at another fixed distance?"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch

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
        "same": share_of_attention("the token itself", role="itself", baseline="same_chance", rank=3),
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
        attention, largest_at = [], []
        chances = dict.fromkeys(NEAR.values(), torch.full(view.total.shape[:2], float("nan"), device=real.device))
        for offset in OFFSETS:
            start, stop = max(0, -offset), max(0, min(width, width - offset))
            if start >= stop:
                missing = torch.full(view.total.shape[:2], float("nan"), device=real.device)
                attention.append(missing)
                largest_at.append(missing)
                continue
            both = (real[:, start:stop] * real[:, start + offset : stop + offset])[:, None]
            count = both.sum(-1)
            attention.append((view.diagonal(offset) * both).sum(-1) / count)
            if offset in chances:
                uniform = uniform_diagonal(view.call, offset)
                chances[offset] = ((uniform * both).sum(-1) / count).expand(*view.total.shape[:2])
            share = ((offset_of_largest[..., start:stop] == offset) * both).sum(-1) / count
            # An offset that few tokens of a short text have says nothing about a habit.
            largest_at.append(torch.where(2 * count >= real.sum(-1)[:, None], share, float("nan")))
        by_offset = torch.stack(attention, -1)
        middle = OFFSETS.index(0)
        return {
            **{name: by_offset[..., middle + offset] for name, offset in NEAR.items()},
            **{f"{name}{CHANCE}": chances[offset] for name, offset in NEAR.items()},
            "attention": by_offset,
            "largest_at": torch.stack(largest_at, -1),
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
