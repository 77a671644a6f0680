"""Lines, columns and borders of blocks that stand out of a picture, however bright its brightest columns are.

The light of a picture is dominated by its brightest columns. These numbers look at each row by itself, at the weights
without their strongest columns, and at the borders between blocks.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headcount.patterns.light import light_numbers, take_light
from headcount.patterns.picture_sums import (
    EDGE,
    SIDE,
    along_diagonals,
    best_block,
    column_means,
    inside_squares,
    near_lines,
    offsets,
    spread_diagonals,
)

_NAMES = """
line_rows line_mass column_rows column2_rows column_mass columns_mass first_mass line_bare near_bare
line_fit_bare column_fit_bare fill_bare rest_bare line_rows_bare follow slide block_mass block_soft far_mass
block_left block_line edge edge_fill reach reach_bare
"""
OUTLINES = tuple(_NAMES.split())
SOFT = 64
"""The cells that are as bright as possible in the square roots of the weights."""
STRONGEST = 3
"""The number of columns that are dimmed to the strength of the next."""
FAINT = 0.05
"""A row with less light than this is dark."""
ACROSS = 8
"""The distance from the diagonal, in cells, within which a border is visible."""


def outline_numbers(pictures: Tensor, light: Tensor, open_: Tensor, near: Tensor, far: Tensor) -> Tensor:
    """[B, H, outline] of pictures and their light [B, H, SIDE, SIDE]; `near`, `far`: the open cells by their distance.

    `..._rows`: in how many rows the best line, and the two best columns, are clearly stronger than the cells beside
    them. `..._mass`: attention to a line two cells wide, to the strongest column, the five strongest, the first one,
    to two blocks (above their share of the area), to all that is far from the diagonal. `..._bare`: as in `shapes`,
    with the three strongest columns dimmed to the next. `follow`, `slide`: the similarity of neighbouring rows, and
    when shifted by a cell. `block_soft`, `block_left`, `block_line`: what two blocks explain of the square roots, of
    the light without columns and lines, of the light without lines. `edge`: how much darker the clearest border is
    than the diagonal, `edge_fill`: times how much brighter the better square is. `reach`: the light's distance to the
    diagonal, 1 for uniform attention.
    """
    numbers = (
        _standing_out(pictures, open_, far)
        | _masses(pictures, open_, far)
        | _bare(pictures, open_, near, far)
        | _neighbours(pictures.sqrt(), open_)
        | _borders(pictures, light, open_, far)
    )
    return torch.stack([numbers[name] for name in OUTLINES], -1)


def _lines(values: Tensor, cells: Tensor) -> Tensor:
    """The means of the diagonals that count as lines, 0 for those with fewer than a quarter of their cells."""
    ones = torch.ones_like(cells[:, :1, :1, :1]).expand(*cells.shape[:2], SIDE, SIDE)
    known = near_lines(along_diagonals(cells, ones)) * (SIDE - torch.arange(-4, 5, device=cells.device).abs())
    return near_lines(along_diagonals(values * cells, cells)) * (known >= SIDE / 4)


def _beside(values: Tensor, open_: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of the open cells two to four cells to the left and right of each, and how many there are."""
    kernel = torch.tensor([1.0, 1, 1, 0, 0, 0, 1, 1, 1], dtype=values.dtype, device=values.device)[None, None, None]

    def summed(cells: Tensor) -> Tensor:
        return torch.nn.functional.conv2d(cells.flatten(0, 1)[:, None], kernel, padding=(0, 4))[:, 0].view_as(cells)

    count = summed(open_)
    return summed(values) / count.clamp(min=1), count


def _stand_out(values: Tensor, open_: Tensor) -> tuple[Tensor, Tensor]:
    """How clearly a cell is stronger than those beside it in its row, from 0 to 1; and where that is known.

    A ramp, not a threshold, so that rounding does not change the name of a pattern.
    """
    mean, count = _beside(values, open_)
    known = (count >= 3).to(values.dtype) * open_
    return ((values - 1.5 * mean) / (mean + 0.5 / SIDE)).clamp(0, 1) * known, known


def _standing_out(pictures: Tensor, open_: Tensor, far: Tensor) -> dict[str, Tensor]:
    out, known = _stand_out(pictures, open_)
    best = column_means(out, far * known).topk(2, -1).values
    return {"line_rows": _lines(out, known).amax(-1), "column_rows": best[..., 0], "column2_rows": best[..., 1]}


def _masses(pictures: Tensor, open_: Tensor, far: Tensor) -> dict[str, Tensor]:
    lines = _lines(pictures, open_)
    columns = column_means(pictures, far)
    top = columns.topk(5, -1).values
    even = open_ / open_.sum(-1, keepdim=True).clamp(min=1)
    (inside, total), (share, whole) = inside_squares(pictures), inside_squares(even)
    return {
        "line_mass": (lines[..., 1:] + lines[..., :-1]).amax(-1),
        "column_mass": top[..., 0],
        "columns_mass": top.sum(-1),
        "first_mass": columns[..., 0],
        "block_mass": (inside / total.clamp(min=1e-6) - share / whole).amax(-1),
        "far_mass": (pictures * far).sum((-1, -2)) / SIDE,
    }


def _bare(pictures: Tensor, open_: Tensor, near: Tensor, far: Tensor) -> dict[str, Tensor]:
    """The numbers of `light_numbers` for weights whose strongest columns are dimmed to the next, off the diagonal."""
    columns = column_means(pictures, far)
    limit = columns.topk(STRONGEST + 1, -1).values[..., -1:]  # a limit, not a choice: columns may be equally strong
    kept = (limit / columns.clamp(min=1e-9)).clamp(max=1)[..., None, :]
    bare = pictures * torch.maximum(kept.expand_as(pictures), near.expand_as(pictures))
    numbers = light_numbers(take_light(bare, open_, least=1 / SIDE), open_, near)
    line_rows = _lines(*_stand_out(bare, open_)).amax(-1)
    return {f"{name}_bare": values for name, values in numbers.items()} | {"line_rows_bare": line_rows}


def _neighbours(roots: Tensor, open_: Tensor) -> dict[str, Tensor]:
    def cosine(first: Tensor, second: Tensor, cells: Tensor) -> Tensor:
        first, second = first * cells, second * cells
        sizes = first.square().sum(-1).sqrt() * second.square().sum(-1).sqrt()
        return (first * second).sum(-1) / sizes.clamp(min=1e-6)

    below = cosine(roots[..., :-1, :], roots[..., 1:, :], open_[..., :-1, :] * open_[..., 1:, :])
    moved = cosine(roots[..., :-1, :-1], roots[..., 1:, 1:], open_[..., :-1, :-1] * open_[..., 1:, 1:])
    return {"follow": below.mean(-1), "slide": moved[..., EDGE:].mean(-1)}


def _borders(pictures: Tensor, light: Tensor, open_: Tensor, far: Tensor) -> dict[str, Tensor]:
    roots = pictures.sqrt()
    bright = roots.flatten(2).topk(SOFT, -1).values[..., -1].clamp(min=0.05)
    soft = (roots / bright[..., None, None]).clamp(max=1)
    lines = spread_diagonals(along_diagonals(light, open_))
    columns = (light * far).sum(-2, keepdim=True) / far.sum(-2, keepdim=True).clamp(min=1)
    left = (light - columns) * open_
    rest = left - spread_diagonals(along_diagonals(left, open_))
    edge, fill = _edge(light, lines, open_)
    distance = offsets(light.device).abs().to(light.dtype)
    even = (distance * open_ / open_.sum(-1, keepdim=True).clamp(min=1)).sum((-1, -2))

    def reach(values: Tensor) -> Tensor:
        """The mean distance to the diagonal, without rows that are dark but for rounding."""
        return (distance * values / values.sum(-1, keepdim=True).clamp(min=FAINT)).sum((-1, -2)) / even

    return {
        "block_soft": best_block(soft, far)[1],
        "block_left": best_block(rest, open_)[1],
        "block_line": best_block(light - lines, open_)[1],
        "edge": edge,
        "edge_fill": fill,
        "reach": reach(light),
        "reach_bare": reach(left.clamp(min=0)),
    }


def _edge(light: Tensor, lines: Tensor, open_: Tensor) -> tuple[Tensor, Tensor]:
    """How much less light than along the rest of the diagonal crosses a border, at the best border.

    And the same times how much brighter the brighter of the two squares is than the whole.
    """
    distance = offsets(light.device).abs()
    beside = ((distance >= 1) & (distance <= ACROSS)).to(light.dtype) * open_
    inside, total = inside_squares(light * beside)
    expected, whole = inside_squares(lines * beside)
    here, usual = total - inside, whole - expected
    drop = torch.where(usual > 0.5, 1 - here / usual.clamp(min=1e-3), torch.zeros_like(here))
    first, second = _squares(light), _squares(open_.expand_as(light))
    filled = torch.maximum(first[0] / second[0].clamp(min=1), first[1] / second[1].clamp(min=1))
    mean = light.sum((-1, -2)) / open_.sum((-1, -2))
    return drop.amax(-1), (drop.clamp(min=0) * (filled - mean[..., None])).amax(-1)


def _squares(values: Tensor) -> tuple[Tensor, Tensor]:
    """For every border, the sums within the first and the second square."""
    sums = values.cumsum(-1).cumsum(-2)
    border = torch.arange(EDGE - 1, SIDE - EDGE, device=values.device)
    first = sums[..., border, border]
    second = sums[..., -1, -1][..., None] - sums[..., border, -1] - sums[..., -1, border] + first
    return first, second
