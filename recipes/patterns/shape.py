"""The pictures of maps and their shapes, where a map is all there is: no model, no batch."""

from __future__ import annotations

import torch
from torch import Tensor

from headcount.patterns.shapes import shape_numbers, stretches, take_picture


def draw_pictures(weights: Tensor) -> Tensor:
    """Pictures [map, SIDE, SIDE] of maps [map, token, token]."""
    parts = stretches(torch.ones(1, weights.shape[-1]))
    return take_picture(weights[None], parts, parts)[0]


def shape_pictures(pictures: Tensor, tokens: int, stack: str) -> Tensor:
    """The shapes [map, shape] of pictures of maps of so many tokens; a decoder does not see the future."""
    open_ = torch.ones(tokens, tokens) if stack == "encoder" else torch.ones(tokens, tokens).tril()
    uniform = draw_pictures((open_ / open_.sum(-1, keepdim=True))[None])
    return shape_numbers(pictures[None], uniform[None], torch.tensor([float(tokens)]))[0]
