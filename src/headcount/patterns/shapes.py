"""The shape of an attention map in numbers, read off a small picture of it: the length of a text does not matter.

A picture is the map between 32 stretches of the text, and its light is what an eye would see: bright where the largest
weights are. The numbers tell lines along the diagonal, columns, blocks, and how much of the light these explain.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headcount.patterns.outlines import OUTLINES, outline_numbers
from headcount.patterns.picture_sums import (
    EVEN,
    SIDE,
    along_diagonals,
    best_block,
    near_lines,
    offsets,
    spread_diagonals,
)
from headcount.trace.uniform import uniform_weights
from headcount.trace.view import AttentionView

LIGHTS = (
    "line",
    "near",
    "line_fit",
    "line_rest",
    "column",
    "columns",
    "column_fit",
    "row_fit",
    "block",
    "block_fit",
    "fill",
    "far_fill",
    "rest",
    "even",
    "alike",
    "peak",
)
SHAPES = (*LIGHTS, *OUTLINES)
BRIGHT = 16
"""The cells of a picture that are as bright as can be: one in 64."""


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
    share = queries / queries.sum(1, keepdim=True).clamp(min=1e-9)
    return share.transpose(1, 2)[:, None] @ weights


def see_pictures(view: AttentionView, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pictures of a layer's maps, those of uniform attention [B, 1, SIDE, SIDE], and the texts' lengths [B].

    `real` [B, Q] says which positions are tokens rather than padding.
    """
    parts = stretches(real).to(view.unnormalised.dtype)
    uniform = uniform_weights(view.call).to(parts.dtype).expand(len(real), -1, -1, -1)[:, :1]
    pictures = _mean_rows((view.unnormalised @ parts[:, None]) / view.total[..., None], parts)
    return pictures, take_picture(uniform, parts, parts), real.sum(-1)


def shape_numbers(pictures: Tensor, uniform: Tensor, lengths: Tensor) -> Tensor:
    """[B, H, shape] of pictures [B, H, SIDE, SIDE]; cells that uniform attention [B, 1, ...] leaves dark are closed.

    `line`: the light of the brightest line at most 4 cells beside the diagonal. `near`: the share of the light that
    lies within two cells or a token and a half of it, above the share of the area. `column`, `columns`: the light of
    the brightest column, and of the five brightest, away from the diagonal. `block`: how much brighter two squares
    along the diagonal are than the rest away from it, at the best border. `..._fit`: the share of the light's
    variance that lines along the diagonal, columns, rows, two blocks explain; `line_rest`: the brightest line in what
    columns leave; `rest`: the share that neither columns nor lines explain. `fill`, `far_fill`: the mean light, and
    away from the diagonal. `even`: the entropy of the rows, 1 for uniform attention (0.93 or more where the future is
    hidden); `alike`: the cosine between a row and the mean row; `peak`: the largest weight of a row. All others are
    told by `outlines.outline_numbers`.
    """
    open_ = (uniform > 0).to(pictures.dtype)
    bright = pictures.flatten(2).topk(BRIGHT, -1).values[..., -1].clamp(min=1.5 / SIDE)
    light = (pictures / bright[..., None, None]).clamp(max=1) * open_
    offset = offsets(pictures.device)
    width = torch.clamp(1.5 * SIDE / lengths, min=2.0)[:, None, None, None]
    near = (offset.abs() <= width) * open_
    far = (offset.abs() > width) * open_
    count = open_.sum((-1, -2))
    fill = light.sum((-1, -2)) / count
    spread = (((light - fill[..., None, None]) * open_) ** 2).sum((-1, -2)).clamp(min=EVEN**2 * SIDE**2)

    def fit(means: Tensor) -> Tensor:
        """The share of the variance that these means [.., SIDE, SIDE] explain."""
        return (((means - fill[..., None, None]) * open_) ** 2).sum((-1, -2)) / spread

    columns = light.sum(-2, keepdim=True) / open_.sum(-2, keepdim=True).clamp(min=1)
    rows = light.sum(-1, keepdim=True) / open_.sum(-1, keepdim=True).clamp(min=1)
    lines = along_diagonals(light, open_)
    left = (light - columns) * open_
    left_lines = along_diagonals(left, open_)
    far_columns = (light * far).sum(-2) / far.sum(-2).clamp(min=1)
    far_columns = far_columns * (far.sum(-2) >= SIDE / 4)
    top = far_columns.topk(5, -1).values
    block, block_fit = best_block(light, far)
    mean_row = pictures.mean(-2, keepdim=True)
    cosine = torch.nn.functional.cosine_similarity(pictures, mean_row, dim=-1)
    found = {
        "line": near_lines(lines).amax(-1),
        "near": (light * near).sum((-1, -2)) / light.sum((-1, -2)).clamp(min=1e-6) - near.sum((-1, -2)) / count,
        "line_fit": fit(spread_diagonals(lines)),
        "line_rest": near_lines(left_lines).amax(-1),
        "column": top[..., 0],
        "columns": top.mean(-1),
        "column_fit": fit(columns.expand_as(light)),
        "row_fit": fit(rows.expand_as(light)),
        "block": block,
        "block_fit": block_fit,
        "fill": fill,
        "far_fill": (light * far).sum((-1, -2)) / far.sum((-1, -2)).clamp(min=1),
        "rest": (((left - spread_diagonals(left_lines)) * open_) ** 2).sum((-1, -2)) / spread,
        "even": (torch.special.entr(pictures).sum(-1) / open_.sum(-1).clamp(min=2).log()).mean(-1),
        "alike": cosine.mean(-1),
        "peak": pictures.amax(-1).mean(-1),
    }
    own = torch.stack([found[name] for name in LIGHTS], -1)
    return torch.cat([own, outline_numbers(pictures, light, open_, near, far)], -1)
