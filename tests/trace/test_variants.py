"""Tiling repeats what has the rows of the batch and leaves all else alone; a replacement changes its heads alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from headcount.trace.call import AttentionCall
from headcount.trace.variants import Replacement, Zero, tile, untile


def test_tile_and_back() -> None:
    value = {
        "ids": torch.arange(6).reshape(3, 2),
        "pair": (torch.zeros(1, 4), None),
        "flag": True,
        "one": torch.tensor(1),
    }
    tiled = tile(value, 3, 4)
    assert tiled["ids"].shape == (12, 2)
    assert torch.equal(tiled["ids"][3:6], value["ids"])  # type: ignore[arg-type]
    assert tiled["pair"][0].shape == (1, 4)
    assert tiled["flag"] is True
    assert torch.equal(untile(tiled, 3, 4)["ids"], value["ids"])  # type: ignore[arg-type]


def test_a_replacement_of_some_heads() -> None:
    outputs = torch.ones(1, 2, 3, 4)
    edited = Zero([0, 2])(outputs, None)
    assert edited.sum((0, 1, 3)).tolist() == [0, 8, 0]
    assert bool((outputs == 1).all()), "not in place"


class Replaced(Replacement):
    def __init__(self, columns: list[int], by: Tensor) -> None:
        super().__init__(columns)
        self.by = by

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        return self.by


@pytest.mark.parametrize("shape", [(), (4,), (3, 4), (1, 4), (2, 1, 4), (5, 2, 3, 4), (5, 1, 1, 4)])
def test_whatever_broadcasts_to_the_outputs_replaces_them(shape: tuple[int, ...]) -> None:
    outputs, by = torch.zeros(5, 2, 3, 4), torch.randn(shape)
    expected = outputs.clone()
    expected[:, :, [2, 0]] = by.expand_as(outputs)[:, :, [2, 0]]
    assert torch.equal(Replaced([2, 0], by)(outputs, None), expected)
