"""Tiling repeats what has the rows of the batch and leaves all else alone; a replacement changes its heads alone."""

from __future__ import annotations

import torch

from headcount.trace.variants import Zero, tile, untile


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
