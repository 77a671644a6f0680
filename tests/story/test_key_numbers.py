"""Do the numbers that sum a study up carry their intervals, their controls, and what is missing?"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headcount.core.heads import Layout
from headcount.story.key_numbers import baseline_number, cut_number, heads_number, significant_number


def curve(change: float, bound: float) -> xr.Dataset:
    values = {"delta": change, "low": bound, "high": 0.1, "bound_low": bound, "bound_high": 0.1}
    numbers = {name: (("order", "removed"), np.full((3, 2), value)) for name, value in values.items()}
    numbers["delta"][1][1:] = -0.25  # the random orders
    coords = {"order": ["importance", "random 0", "random 1"], "removed": [4, 8]}
    attributes = {"metric": "accuracy", "heads": 12, "examples": 2000}
    return xr.Dataset({**numbers, "baseline": 0.9}, coords=coords, attrs=attributes)


def test_a_cut_stands_beside_random_orders() -> None:
    told = cut_number(curve(-0.002, -0.005), curve(-0.004, -0.006), 1.0)
    assert told["title"] == "accuracy without 8 of 12 heads"
    assert (told["value"], told["spread"]) == ("-0.004", "[-0.006, +0.100]")
    assert told["beside"] == "2,000 held-out examples; 2 random orders: -0.250"


def test_a_cut_that_nothing_proves_says_so() -> None:
    told = cut_number(curve(-0.002, -0.5), curve(-0.002, -0.5), 1.0)
    assert told["beside"].endswith("no cut is shown to be safe")


def test_no_cut_within_a_point() -> None:
    assert cut_number(curve(-0.5, -0.6), curve(-0.5, -0.6), 1.0)["value"] == "0"


def test_the_commonest_answer_is_the_control_of_an_accuracy() -> None:
    sweep = xr.Dataset(
        {"baseline": 0.8, "baseline_low": 0.7, "baseline_high": 0.9, "label": ("example", [0, 1, 1, 1])},
        attrs={"metric": "accuracy"},
    )
    assert baseline_number(sweep)["beside"] == "4 examples; commonest answer: 0.75"
    loss = sweep.assign_attrs(metric="loss", higher_is_better=False)
    assert baseline_number(loss)["beside"] == "4 examples, lower is better"


def test_effects_are_counted_of_those_tested() -> None:
    sweep = xr.Dataset(
        {
            "q": ("head", [0.01, 0.5, np.nan]),
            "low": ("head", [-0.2, -0.1, np.nan]),
            "high": ("head", [0.0, 0.1, np.nan]),
            "label": ("example", [0, 1]),
        }
    )
    told = significant_number(sweep)
    assert told["value"] == "1 of 2"
    assert "±0.1" in told["beside"]


@pytest.mark.parametrize("told", [baseline_number(None), significant_number(None), cut_number(None, None, 1.0)])
def test_what_is_missing_names_its_command(told: dict[str, str]) -> None:
    assert "headcount" in told["missing"]
    assert "value" not in told


def test_heads_by_layer_and_by_stack() -> None:
    assert heads_number(Layout({"encoder": ((0, 1), (0, 1))}))["spread"] == "2 layers of 2"
    told = heads_number(Layout({"encoder": ((0, 1),), "decoder": ((0,),)}))
    assert (told["value"], told["spread"]) == ("3", "encoder 2, decoder 1")
