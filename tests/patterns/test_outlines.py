"""What stands out of a picture is found in planted maps, and is what the plain formula gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headcount.patterns.outlines import OUTLINES
from headcount.patterns.picture_sums import SIDE
from tests.patterns.test_shapes import (
    allowed,
    block_map,
    column_map,
    line_map,
    normalise,
    numbers,
    picture,
    random_map,
    uniform_map,
)

LENGTHS = (16, 40, 100)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_line_is_seen_beside_any_column(length: int) -> None:
    """The column takes nine tenths of the light; without it the line is all there is."""
    both = 0.9 * column_map(length, length // 2) + 0.1 * line_map(length, -1)
    found, column = numbers(both), numbers(column_map(length, length // 2))
    assert found["line_rows"] > 0.7 > 0.2 > column["line_rows"]
    assert found["line_bare"] > 0.5 > 3 * column["line_bare"]
    assert found["column_mass"] == pytest.approx(0.9 * column["column_mass"], abs=0.02)
    assert found["column_rows"] > 0.95


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_first_column(length: int, causal: bool) -> None:
    found = numbers(column_map(length, 0), causal)
    assert found["first_mass"] == pytest.approx(found["column_mass"])
    assert found["first_mass"] > 0.3
    assert numbers(column_map(length, length // 2))["first_mass"] == 0


@pytest.mark.parametrize("length", LENGTHS)
def test_a_border_tells_blocks_from_a_broad_band(length: int) -> None:
    place = torch.arange(length).float()
    band = normalise(torch.exp(-(((place[None] - place[:, None]) / (length / 6)) ** 2)))
    blocks = block_map(length, length // 2)
    for name in ("block_left", "block_line", "edge", "edge_fill"):
        assert numbers(blocks)[name] > 2 * numbers(band)[name], name
    assert numbers(blocks)["edge"] > 0.8


@pytest.mark.parametrize("length", [32, 40, 100])
def test_rows_that_follow_or_slide(length: int) -> None:
    assert numbers(column_map(length, 3))["follow"] == pytest.approx(1, abs=1e-4)
    line = numbers(line_map(length, 0))
    assert line["slide"] > 0.9
    assert line["slide"] > line["follow"]


@pytest.mark.parametrize("length", LENGTHS)
def test_how_far_the_light_reaches(length: int) -> None:
    assert numbers(uniform_map(length))["reach"] == pytest.approx(1, abs=0.02)
    assert numbers(line_map(length, 0))["reach"] < 0.2
    assert numbers(line_map(length, 0))["far_mass"] < 0.01
    assert numbers(column_map(length, 0))["reach"] > 1.2


def naive_outlines(small: np.ndarray, open_: np.ndarray, length: int) -> dict[str, float]:
    """Cell by cell, in float64, from what the numbers are said to be."""
    width = max(2, 1.5 * SIDE / length)
    cells = [(row, column) for row in range(SIDE) for column in range(SIDE) if open_[row, column]]
    is_far = {cell: abs(cell[0] - cell[1]) > width for cell in cells}

    def beside(row: int, column: int) -> list[float]:
        there = [column + step for step in (-4, -3, -2, 2, 3, 4)]
        return [small[row, one] for one in there if 0 <= one < SIDE and open_[row, one]]

    out: dict[tuple[int, int], float] = {}
    for row, column in cells:
        around = beside(row, column)
        if len(around) >= 3:
            mean = float(np.mean(around))
            out[row, column] = min(max((small[row, column] - 1.5 * mean) / (mean + 0.5 / SIDE), 0), 1)
    lines, masses = [], []
    for step in range(-4, 5):
        seen = [value for (row, column), value in out.items() if column - row == step]
        lines.append(float(np.mean(seen)) if len(seen) >= SIDE / 4 else 0.0)
        weights = [small[cell] for cell in cells if cell[1] - cell[0] == step]
        masses.append(float(np.mean(weights)) if len(weights) >= SIDE / 4 else 0.0)
    rows, mass = [], []
    for column in range(SIDE):
        seen = [value for cell, value in out.items() if cell[1] == column and is_far[cell]]
        rows.append(float(np.mean(seen)) if len(seen) >= SIDE / 4 else 0.0)
        weights = [small[cell] for cell in cells if cell[1] == column and is_far[cell]]
        mass.append(float(np.mean(weights)) if len(weights) >= SIDE / 4 else 0.0)
    even = {cell: 1 / open_[cell[0]].sum() for cell in cells}
    blocks = []
    for border in range(4, SIDE - 3):
        same = [cell for cell in cells if (cell[0] < border) == (cell[1] < border)]
        held = sum(small[cell] for cell in same) / sum(small[cell] for cell in cells)
        blocks.append(held - sum(even[cell] for cell in same) / sum(even.values()))
    bright = max(sorted(small.ravel())[-16], 1.5 / SIDE)
    light = {cell: min(small[cell] / bright, 1) for cell in cells}
    line = {
        step: np.mean([light[cell] for cell in cells if cell[1] - cell[0] == step])
        for step in range(-8, 9)
        if any(cell[1] - cell[0] == step for cell in cells)
    }
    drops = []
    for border in range(4, SIDE - 3):
        across = [
            cell for cell in cells if 1 <= abs(cell[0] - cell[1]) <= 8 and (cell[0] < border) != (cell[1] < border)
        ]
        usual = sum(line[cell[1] - cell[0]] for cell in across)
        drops.append(1 - sum(light[cell] for cell in across) / usual if usual > 0.5 else 0.0)
    by_row = [sum(light[cell] for cell in cells if cell[0] == row) for row in range(SIDE)]
    reach = sum(abs(cell[0] - cell[1]) * light[cell] / max(by_row[cell[0]], 0.05) for cell in cells)
    return {
        "line_rows": max(lines),
        "line_mass": max(one + other for one, other in zip(masses[1:], masses, strict=False)),
        "column_rows": max(rows),
        "column2_rows": sorted(rows)[-2],
        "column_mass": max(mass),
        "columns_mass": sum(sorted(mass)[-5:]),
        "first_mass": mass[0],
        "block_mass": max(blocks),
        "far_mass": sum(small[cell] for cell in cells if is_far[cell]) / SIDE,
        "edge": max(drops),
        "reach": reach / sum(abs(cell[0] - cell[1]) * even[cell] for cell in cells),
    }


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [8, 13, 32, 57, 150])
def test_is_the_formula(length: int, causal: bool) -> None:
    weights = random_map(length, length, 2.0, causal)
    for other in (line_map(length, -1), column_map(length, length // 3), block_map(length, 2 * length // 3)):
        weights = weights + 0.3 * other
    weights = normalise(weights * allowed(length, causal))
    open_ = picture(uniform_map(length, causal)).numpy() > 0
    expected = naive_outlines(picture(weights).double().numpy(), open_, length)
    found = numbers(weights, causal)
    assert set(expected) <= set(OUTLINES)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-4)
