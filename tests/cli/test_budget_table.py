"""Does the table show every step of the deciding order with its controls, and the JSON what was chosen?"""

from __future__ import annotations

import io
import json

import pytest
import xarray as xr
from rich.console import Console

from headcount.budgets.choose_parts import PartChoice
from headcount.cli.budget_table import budget_json, budget_table
from headcount.core.heads import HeadSet, Layout
from headcount.core.units import Selection, UnitLayout, UnitSet
from tests.planted_budgets import CONFIRMED, budget_dataset


@pytest.fixture
def curve() -> xr.Dataset:
    return budget_dataset(CONFIRMED, 10_000, heads=12, units=96)


def rows(curve: xr.Dataset, chosen: int | None, width: int = 200) -> list[list[str]]:
    place = io.StringIO()
    Console(file=place, width=width).print(budget_table(curve, chosen))
    lines = [line for line in place.getvalue().splitlines() if line.startswith(("┃", "│"))]
    return [[cell.strip() for cell in line.replace("┃", "│").split("│")[1:-1]] for line in lines]


def test_a_row_for_each_step(curve: xr.Dataset) -> None:
    head, whole, *steps = rows(curve, 2)
    assert head == ["operations", "heads", "units", "speed", "both", "heads only", "random"]
    assert whole == ["100%", "12", "96", "1.00", "0.900", "", ""]
    assert [row[0] for row in steps] == ["80%", "65%", "50% *", "35%"]
    assert [row[1:4] for row in steps] == [
        ["9", "75", "1.25"],
        ["6", "60", "1.54"],
        ["6", "48", "2.00"],
        ["3", "33", "2.86"],
    ]
    for at, row in enumerate(steps):
        point = curve.isel(order=0, step=at)
        numbers = [float(point[key]) for key in ("score", "delta", "low", "high")]
        assert row[4] == "{:.3f} {:+.3f} [{:+.3f}, {:+.3f}]".format(*numbers)
        randoms = float(curve["score"].isel(order=[2, 3], step=at).mean())
        assert row[6] == f"{randoms:.3f}"
    assert [row[5] for row in steps] == ["0.897", "0.871", "", ""], "heads only cannot reach the last two"


def test_nothing_chosen_has_no_star(curve: xr.Dataset) -> None:
    assert not any("*" in row[0] for row in rows(curve, None))


def test_without_controls(curve: xr.Dataset) -> None:
    head, *_ = rows(curve.isel(order=[0]), 2)
    assert head == ["operations", "heads", "units", "speed", "both"]


def test_steps_that_only_controls_reach_are_left_out() -> None:
    lost = {"both": (12, None, 20, 600), "random 0": (300, 900, 1500, None)}
    curve = budget_dataset(lost, 10_000, heads=12, units=96)
    _, _, *steps = rows(curve, None)
    assert [row[0] for row in steps] == ["80%", "50%", "35%"]
    assert steps[-1][-1] == ""


def test_it_fits_into_80_columns(curve: xr.Dataset) -> None:
    place = io.StringIO()
    Console(file=place, width=80).print(budget_table(curve, 2))
    assert max(map(len, place.getvalue().splitlines())) <= 80
    assert "…" not in place.getvalue()


def test_json(curve: xr.Dataset) -> None:
    layout, units = Layout({"encoder": ((0, 1),)}), UnitLayout({"encoder": ((0, 1, 2),)})
    parts = Selection(HeadSet.of(["L0H1"], layout), UnitSet.of(["L0U0-1"], units))
    said = json.loads(json.dumps(budget_json(PartChoice(parts, None, "both", curve, curve, 2, "confirmed"))))
    assert said["parts"] == ["L0H1", "L0U0-1"]
    assert said["verdict"] == "confirmed"
    point = curve.isel(order=0, step=2)
    for key in ("operations", "weights", "speed", "speed_low", "speed_high", "score", "delta", "low", "high"):
        assert said[key] == float(point[key])
    nothing = budget_json(PartChoice(None, None, "both", curve, curve, None))
    assert nothing == {"parts": [], "verdict": None, "baseline": 0.9}
