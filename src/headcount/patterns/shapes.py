"""The shape of an attention map in numbers, computed from a small picture of it, whatever the length of the text.

A picture is the map between 32 stretches of the text; its light is bright where the largest weights are. The numbers
describe lines along the diagonal, columns and blocks, and how much of the light these explain.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from headcount.patterns.light import light_numbers, take_light
from headcount.patterns.outlines import OUTLINES, outline_numbers
from headcount.patterns.picture_sums import (
    SIDE,
    best_block,
    column_means,
    offsets,
)
from headcount.trace.uniform import uniform_mass
from headcount.trace.view import AttentionView

_NAMES = """
line near line_fit line_rest column columns column_fit row_fit block block_fit fill far_fill rest even alike
peak
"""
LIGHTS = tuple(_NAMES.split())
SHAPES = (*LIGHTS, *OUTLINES)


def stretches(real: Tensor) -> Tensor:
    """[B, token, SIDE]: how much of each real token [B, token] lies in each stretch of its text."""
    length = real.sum(-1)[:, None, None]
    token = torch.arange(real.shape[1], device=real.device, dtype=torch.float32)[None, :, None]
    edge = torch.arange(SIDE + 1, device=real.device, dtype=torch.float32)[None, None] * length / SIDE
    inside: Tensor = torch.minimum(token + 1, edge[..., 1:]) - torch.maximum(token, edge[..., :-1])
    return inside.clamp(min=0) * real[..., None]


def take_picture(weights: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """The map [B, H, Q, K] between stretches [B, H, SIDE, SIDE]: the mean over queries, the sum over keys."""
    return _mean_rows(weights @ keys[:, None], queries)


def _mean_rows(weights: Tensor, queries: Tensor) -> Tensor:
    """The mean of rows [B, H, Q, ...] over each stretch of the queries [B, Q, SIDE]."""
    return _shares(queries).transpose(1, 2)[:, None] @ weights


def _shares(queries: Tensor) -> Tensor:
    """The weight of each query in the mean of its stretch [B, Q, SIDE]."""
    return queries / queries.sum(1, keepdim=True).clamp(min=1e-9)


class PictureParts(NamedTuple):
    """What the pictures of a layer need beside its maps."""

    queries: Tensor
    """The weight of each query in the mean of its stretch [B, Q, SIDE]."""
    keys: Tensor
    """[B, K, SIDE]."""
    uniform: Tensor
    """The picture of uniform attention [B, 1, SIDE, SIDE]."""


def picture_parts(view: AttentionView, real: Tensor) -> PictureParts:
    parts = stretches(real).to(view.total.dtype)
    uniform = uniform_mass(view.call, parts)[:, :1]
    return PictureParts(_shares(parts), parts, _mean_rows(uniform, parts))


def see_pictures(view: AttentionView, real: Tensor, parts: PictureParts | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Pictures of a layer's maps, those of uniform attention [B, 1, SIDE, SIDE], and the texts' lengths [B].

    `real` [B, Q] says which positions are tokens rather than padding.
    """
    parts = parts or picture_parts(view, real)
    return view.picture(parts.queries, parts.keys), parts.uniform, real.sum(-1)


def shape_numbers(pictures: Tensor, uniform: Tensor, lengths: Tensor) -> Tensor:
    """[B, H, shape] of pictures [B, H, SIDE, SIDE]; cells that uniform attention [B, 1, ...] leaves dark are closed.

    `line`: the light of the brightest line at most 4 cells off the diagonal. `near`: the share of the light within two
    cells or a token and a half of the diagonal, above the share of the area. `column`, `columns`: the light of the
    brightest column, and of the five brightest, off the diagonal. `block`: how much brighter two squares on the
    diagonal are than the rest, off the diagonal, at the best border. `..._fit`: the share of the light's variance that
    lines along the diagonal, columns, rows, two blocks explain; `line_rest`: the brightest line after the columns
    are subtracted; `rest`: the share that neither columns nor lines explain. `fill`, `far_fill`: the mean light, in
    all and off the diagonal. `even`: the entropy of the rows, 1 for uniform attention (0.93 or more if the future is
    masked); `alike`: the cosine between a row and the mean row; `peak`: the largest weight of a row. For all others
    see `outlines.outline_numbers`.
    """
    open_ = (uniform > 0).to(pictures.dtype)
    light = take_light(pictures, open_, least=1.5 / SIDE)
    distance = offsets(pictures.device).abs()
    width = torch.clamp(1.5 * SIDE / lengths, min=2.0)[:, None, None, None]
    near, far = (distance <= width) * open_, (distance > width) * open_
    top = column_means(light, far).topk(5, -1).values
    block, block_fit = best_block(light, far)
    cosine = torch.nn.functional.cosine_similarity(pictures, pictures.mean(-2, keepdim=True), dim=-1)
    numbers = light_numbers(light, open_, near) | {
        "column": top[..., 0],
        "columns": top.mean(-1),
        "block": block,
        "block_fit": block_fit,
        "far_fill": (light * far).sum((-1, -2)) / far.sum((-1, -2)).clamp(min=1),
        "even": (torch.special.entr(pictures).sum(-1) / open_.sum(-1).clamp(min=2).log()).mean(-1),
        "alike": cosine.mean(-1),
        "peak": pictures.amax(-1).mean(-1),
    }
    lights = torch.stack([numbers[name] for name in LIGHTS], -1)
    return torch.cat([lights, outline_numbers(pictures, light, open_, near, far)], -1)
