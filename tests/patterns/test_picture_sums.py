"""Sums over cells are what a loop over the cells gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headcount.patterns.picture_sums import (
    EDGE,
    SIDE,
    STEPS,
    along_diagonals,
    best_block,
    inside_squares,
    near_lines,
    offsets,
    spread_diagonals,
)

OPEN = torch.ones(SIDE, SIDE)
CAUSAL = OPEN.tril(1)


def drawn(seed: int = 0) -> torch.Tensor:
    return torch.rand(2, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(seed))


def test_offsets() -> None:
    assert offsets(torch.device("cpu"))[5, 9] == 4
    assert offsets(torch.device("cpu"))[9, 5] == -4


@pytest.mark.parametrize("open_", [OPEN, CAUSAL])
def test_means_along_diagonals(open_: torch.Tensor) -> None:
    values = drawn() * open_
    found = along_diagonals(values, open_.expand(2, 1, SIDE, SIDE))
    for step in (-31, -7, 0, 1, 2, 30):
        inside = torch.diagonal(open_, step) > 0
        expected = torch.diagonal(values[1, 2], step)[inside].mean() if inside.any() else torch.tensor(0.0)
        np.testing.assert_allclose(found[1, 2, step + SIDE - 1], expected, atol=1e-6)
    wide = spread_diagonals(found)
    assert wide.shape == values.shape
    assert wide[0, 1, 10, 3] == found[0, 1, -7 + SIDE - 1]
    assert near_lines(found).shape[-1] == len(STEPS)
    assert near_lines(found)[0, 0, 4] == found[0, 0, SIDE - 1]


def test_sums_within_two_squares() -> None:
    values = drawn(1)
    inside, total = inside_squares(values)
    borders = list(range(EDGE, SIDE - EDGE + 1))
    assert inside.shape[-1] == len(borders)
    for place, border in enumerate(borders):
        expected = values[0, 1, :border, :border].sum() + values[0, 1, border:, border:].sum()
        np.testing.assert_allclose(inside[0, 1, place], expected, rtol=1e-4)
    np.testing.assert_allclose(total[..., 0], values.sum((-1, -2)), rtol=1e-5)


def test_the_best_block_is_the_one_that_is_there() -> None:
    first = torch.arange(SIDE) < 12
    values = (first[:, None] == first[None]).float()[None, None]
    gain, share = best_block(values, OPEN[None, None])
    assert gain.item() == pytest.approx(1)
    assert share.item() == pytest.approx(1)
    gain, share = best_block(1 - values, OPEN[None, None])  # light between the squares is no block there
    assert share.item() < 0.5
