"""Orange is what is needed, whatever the metric; white is the baseline; a role has one colour."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib import colormaps

from headcount.reporting.figure_colours import KINDS, NONE, kind_colours, scale_of


def effect(values: list[float | None], higher: bool) -> dict[str, Any]:
    return {"kind": "diverging", "unit": "score", "values": values, "higher": higher, "effect": True}


def is_orange(colour: tuple[float, ...]) -> bool:
    red, _, blue, _ = colour
    return bool(red > blue)


@pytest.mark.parametrize("higher", [True, False])
def test_orange_is_what_is_needed(higher: bool) -> None:
    """Without a needed head the accuracy is lower and the loss is higher."""
    scale = scale_of(effect([-0.1, 0.3, None], higher), baseline=0.5)
    assert (scale.low, scale.centre, scale.high) == pytest.approx((0.2, 0.5, 0.8))
    low, centre, high = (colormaps[scale.name](share) for share in (0.2, 0.5, 0.8))
    assert is_orange(low) is higher
    assert is_orange(high) is not higher
    assert min(centre[:3]) > 0.9, "no effect is white"
    assert scale.seen == pytest.approx((0.4, 0.8)), "the bar ends where the values end"
    assert scale.says == "orange: needed, purple: better without it"


def test_a_change_without_a_direction_is_centred_on_zero() -> None:
    scale = scale_of({"kind": "diverging", "unit": "", "values": [-0.2, 0.1]})
    assert (scale.low, scale.centre, scale.high, scale.says) == (-0.2, 0.0, 0.2, "")


def test_a_centre_between_two_meanings() -> None:
    scale = scale_of({"kind": "diverging", "unit": "", "values": [0.4, 0.7], "centre": 0.5, "higher": False})
    assert (scale.low, scale.high) == pytest.approx((0.3, 0.7))
    assert scale.name == "PuOr_r"


def test_an_amount_has_no_centre() -> None:
    assert scale_of({"kind": "sequential", "unit": "share of attention", "values": [0.2, 0.4]}).low == 0
    alike = scale_of({"kind": "sequential", "unit": "nats", "values": [2.0, 2.0]})
    assert (alike.low, alike.high, alike.centre) == (2.0, 3.0, None)


def test_no_effect_at_all_is_white() -> None:
    scale = scale_of(effect([0.0, 0.0], True), baseline=0.8)
    assert scale.low < 0.8 < scale.high
    assert scale.seen is None


def test_kinds_keep_their_colours() -> None:
    colouring = {"names": ["the token itself", "mixed"], "colours": [3, 98], "none": 1}
    assert kind_colours(colouring) == [KINDS[3], NONE]
    assert kind_colours({"names": ["a", "b"]}) == [*KINDS[:2]]
