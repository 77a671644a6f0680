"""When the order of heads settles, as a sentence."""

from __future__ import annotations

import xarray as xr

from headcount.story.dynamics import settling_sentence


def hand_made(agreement: list[float]) -> xr.Dataset:
    return xr.Dataset({"agreement": ("checkpoint", agreement)}, {"checkpoint": [0, 10, 20]})


def test_it_says_when_the_order_settles() -> None:
    assert settling_sentence(hand_made([0.2, 0.95, 1.0])).startswith(
        "From step 10 of 20 on the order of heads agrees with the last (rank correlation 0.9 or more)"
    )


def test_the_last_checkpoint_is_no_proof() -> None:
    assert "does not settle before the end (rank correlation below 0.9 until step 20)" in settling_sentence(
        hand_made([0.2, 0.3, 1.0])
    )
