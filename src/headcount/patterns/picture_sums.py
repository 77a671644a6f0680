"""Sums over the cells of a picture: along its diagonals and columns, and within two squares on its diagonal."""

from __future__ import annotations

import torch
from torch import Tensor

SIDE = 32
"""Into how many stretches a text is divided, which is the number of cells along a side of a picture."""
EVEN = 0.01
"""A standard deviation of the light that is too small to be a shape."""
STEPS = range(-4, 5)
"""Offsets, in cells, of the diagonals that count as lines."""
EDGE = SIDE // 8
"""The smallest side of the two squares of a block pattern, in cells."""


def offsets(device: torch.device) -> Tensor:
    """[SIDE, SIDE]: the offset of each cell's key from its query, in cells."""
    cell = torch.arange(SIDE, device=device)
    return cell[None, :] - cell[:, None]


def along_diagonals(values: Tensor, open_: Tensor) -> Tensor:
    """The mean of values [B, H, SIDE, SIDE] along each diagonal [B, H, 2 SIDE - 1], over the open cells."""
    index = (offsets(values.device) + SIDE - 1).flatten()
    sums = values.new_zeros(*values.shape[:2], 2 * SIDE - 1).index_add(2, index, values.flatten(2))
    counts = values.new_zeros(*open_.shape[:2], 2 * SIDE - 1).index_add(2, index, open_.flatten(2))
    return sums / counts.clamp(min=1)


def spread_diagonals(means: Tensor) -> Tensor:
    """The mean of each diagonal [B, H, 2 SIDE - 1], repeated in all its cells [B, H, SIDE, SIDE]."""
    return means[..., offsets(means.device) + SIDE - 1]


def near_lines(means: Tensor) -> Tensor:
    """The means [B, H, step] of the diagonals that count as lines."""
    return means[..., [step + SIDE - 1 for step in STEPS]]


def column_means(values: Tensor, cells: Tensor) -> Tensor:
    """The mean of values over a column's cells, 0 if it has fewer than a quarter of all."""
    count = cells.sum(-2)
    return (values * cells).sum(-2) / count.clamp(min=1) * (count >= SIDE / 4)


def inside_squares(values: Tensor) -> tuple[Tensor, Tensor]:
    """For every border, the sum within the two squares that it makes on the diagonal; and the sum of all cells."""
    sums = values.cumsum(-1).cumsum(-2)
    border = torch.arange(EDGE - 1, SIDE - EDGE, device=values.device)
    corner = sums[..., border, border]
    total = sums[..., -1, -1][..., None]
    return 2 * corner + total - sums[..., border, -1] - sums[..., -1, border], total


def best_block(values: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
    """How much brighter two squares are than the rest, and what share of the variance they explain, at best."""
    inside, total = inside_squares(values * cells)
    count, all_cells = inside_squares(cells)
    outside, other = total - inside, all_cells - count
    gain = inside / count.clamp(min=1) - outside / other.clamp(min=1)
    mean = total / all_cells.clamp(min=1)
    explained = count * (inside / count.clamp(min=1) - mean) ** 2 + other * (outside / other.clamp(min=1) - mean) ** 2
    spread = ((values * cells - mean[..., None] * cells) ** 2).sum((-1, -2)).clamp(min=EVEN**2 * SIDE**2)[..., None]
    share = torch.where((gain > 0) & (count >= 4) & (other >= 4), explained / spread, torch.zeros_like(gain))
    best, border = share.max(-1)
    return torch.where(best > 0, gain.gather(-1, border[..., None])[..., 0], torch.zeros_like(best)), best
