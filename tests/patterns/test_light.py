"""The light of a picture is what a loop over its cells gives; lines and columns explain what they should."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headcount.patterns.light import BRIGHT, light_numbers, take_light
from headcount.patterns.picture_sums import SIDE, column_means, offsets

OPEN = torch.ones(1, 1, SIDE, SIDE)
NEAR = (offsets(torch.device("cpu")).abs() <= 2) * OPEN


def drawn(seed: int = 0) -> torch.Tensor:
    return torch.rand(1, 2, SIDE, SIDE, generator=torch.Generator().manual_seed(seed))


def test_light_is_relative_to_the_brightest_cells() -> None:
    pictures = drawn() ** 4
    light = take_light(pictures, OPEN, least=0.1)
    for head in range(2):
        bright = sorted(pictures[0, head].flatten().tolist())[-BRIGHT]
        np.testing.assert_allclose(light[0, head], (pictures[0, head] / bright).clamp(max=1), rtol=1e-6)
        assert int((light[0, head] == 1).sum()) == BRIGHT
    dark = take_light(pictures / 1000, OPEN, least=0.1)
    np.testing.assert_allclose(dark, pictures / 100, rtol=1e-5)
    assert take_light(pictures, OPEN.tril(), least=0.1)[0, 0].triu(1).sum() == 0


@pytest.mark.parametrize("name", ["line", "column", "row"])
def test_a_shape_explains_itself_alone(name: str) -> None:
    light = torch.zeros(1, 1, SIDE, SIDE)
    if name == "line":
        light[0, 0] = torch.eye(SIDE)
    elif name == "column":
        light[..., 9] = 1
    else:
        light[..., 9, :] = 1
    numbers = {key: float(values) for key, values in light_numbers(light, OPEN, NEAR).items()}
    assert numbers["fill"] == pytest.approx(1 / SIDE)
    for other in ("line", "column", "row"):
        assert (numbers[f"{other}_fit"] > 0.99) == (other == name)
    assert (numbers["line"] > 0.99) == (name == "line")
    assert (numbers["near"] > 0.5) == (name == "line")
    assert (numbers["rest"] < 0.01) == (name != "row"), "rows are neither lines nor columns"


def test_shares_of_the_variance() -> None:
    light = drawn(1)
    numbers = light_numbers(light, OPEN, NEAR)
    cells = light[0, 1].numpy().astype(float)
    np.testing.assert_allclose(numbers["fill"][0, 1], cells.mean(), rtol=1e-5)
    np.testing.assert_allclose(numbers["column_fit"][0, 1], cells.mean(0).var() / cells.var(), rtol=1e-3)
    np.testing.assert_allclose(numbers["row_fit"][0, 1], cells.mean(1).var() / cells.var(), rtol=1e-3)
    near = NEAR[0, 0].numpy() > 0
    np.testing.assert_allclose(numbers["near"][0, 1], cells[near].sum() / cells.sum() - near.mean(), atol=1e-6)


def test_columns_with_few_cells_have_no_mean() -> None:
    means = column_means(torch.ones(1, 1, SIDE, SIDE), OPEN.tril())
    assert means[0, 0].tolist() == [1.0] * (SIDE * 3 // 4 + 1) + [0.0] * (SIDE // 4 - 1)
