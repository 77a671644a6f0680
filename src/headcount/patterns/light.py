"""The light of a picture, which is what an eye would see of it, and how much of it lines, columns and rows explain."""

from __future__ import annotations

from torch import Tensor

from headcount.patterns.picture_sums import EVEN, SIDE, along_diagonals, near_lines, spread_diagonals

BRIGHT = 16
"""The cells of a picture that are as bright as possible: one in 64."""


def take_light(pictures: Tensor, open_: Tensor, least: float) -> Tensor:
    """The weights of open cells relative to the brightest cells (but at least to `least`), from 0 to 1."""
    bright = pictures.flatten(2).topk(BRIGHT, -1).values[..., -1].clamp(min=least)
    return (pictures / bright[..., None, None]).clamp(max=1) * open_


def light_numbers(light: Tensor, open_: Tensor, near: Tensor) -> dict[str, Tensor]:
    """By name, [B, H] of light [B, H, SIDE, SIDE]; `near`: the open cells near the diagonal. See `shapes`."""
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
    return {
        "line": near_lines(lines).amax(-1),
        "near": (light * near).sum((-1, -2)) / light.sum((-1, -2)).clamp(min=1e-6) - near.sum((-1, -2)) / count,
        "line_fit": fit(spread_diagonals(lines)),
        "line_rest": near_lines(left_lines).amax(-1),
        "column_fit": fit(columns.expand_as(light)),
        "row_fit": fit(rows.expand_as(light)),
        "fill": fill,
        "rest": (((left - spread_diagonals(left_lines)) * open_) ** 2).sum((-1, -2)) / spread,
    }
