"""The figure of a budget: the lines and the bars have the numbers of the study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import headcount as hc
from headcount.errors import InvalidOption
from headcount.reporting.figure import choose_drawing
from headcount.reporting.view import View, read_view
from tests.reporting import studies


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.budget_study(tmp_path_factory.mktemp("budget") / "study")


def held_out(study: Path, name: str = "prune") -> xr.Dataset:
    return read_view(study).results[f"pruning/budget@{name}-confirming"]


def test_the_curve_and_the_bars(study: Path, tmp_path: Path) -> None:
    figure = hc.figure(study, "budget", tmp_path / "budget.svg")
    assert (tmp_path / "budget.svg").read_bytes().startswith(b"<?xml")
    stored = held_out(study)
    curve, heads, units = figure.axes
    lines = {line.get_label(): np.array(line.get_data(), dtype=float) for line in curve.lines}
    for order in ("both", "heads only"):
        one = stored.sel(order=order)
        np.testing.assert_allclose(lines[order][0], [1, *one["speed"].values], rtol=1e-3, equal_nan=True)
        np.testing.assert_allclose(lines[order][1], [0.9, *one["score"].values], rtol=1e-3, equal_nan=True)
    mean = stored["score"].values[2:].mean(0)
    np.testing.assert_allclose(lines["random"][1][1:], mean, rtol=1e-3)
    chosen = stored.isel(order=0, step=2)
    ring = lines["selected (tolerance=1)"]
    np.testing.assert_allclose(ring.ravel(), [chosen["speed"], chosen["score"]], rtol=1e-3)
    assert (curve.get_xlabel(), curve.get_ylabel()) == (
        "Measured speed (times the whole model's)",
        "accuracy, held-out half",
    )
    for ax, kind in ((heads, "heads"), (units, "units")):
        whole, left = np.split(np.array([bar.get_width() for bar in ax.patches]), 2)
        np.testing.assert_array_equal(whole, stored[f"{kind}_whole"].values[0])
        np.testing.assert_array_equal(left, chosen[f"{kind}_left"].values[0])


def test_nothing_selected_and_nothing_measured(tmp_path: Path) -> None:
    (curve,) = hc.figure(studies.unchosen_study(tmp_path / "study"), "budget").axes
    assert curve.get_xlabel() == "Operations left (share of the whole model's)"
    assert curve.xaxis_inverted()
    assert not any(str(line.get_label()).startswith("selected") for line in curve.lines)


def test_stacks_have_bars_of_their_own(tmp_path: Path) -> None:
    path = studies.unchosen_study(tmp_path / "study")
    view = read_view(path)
    chosen = {name: result.assign_attrs(chosen=1) for name, result in view.results.items()}
    figure = choose_drawing(View(view.name, chosen, (), view.layout), "budget")(Figure(layout="constrained"))
    _, *bars = figure.axes
    assert [ax.get_title() for ax in bars if ax.axison] == ["encoder", "encoder", "decoder", "decoder", "cross"]


def test_a_study_without_a_budget_says_so(tmp_path: Path) -> None:
    path = studies.budget_study(tmp_path / "study")
    with pytest.raises(InvalidOption, match="got the figure 'curve'; this study has budget$"):
        hc.figure(path, "curve")
