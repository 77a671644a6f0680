"""The arrays of a measure: dimensions and coordinates, means over the texts that answer, what follows from these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

from headcount.core.heads import Layout
from headcount.core.results import ArrayPlan
from headcount.core.schema import Schema
from headcount.core.statistics import mean_interval
from headcount.measures.contract import Question, Setting, Values
from headcount.measures.results import coordinates, plan_values, summarise_measure

LAYOUT = Layout({"encoder": ((0, 1, 2), (0, 1, 2)), "decoder": ((0, 1),)})
SETTING = Setting(("first",), False, False, None, {"encoder": 2, "decoder": 1}, 3)
IDS = np.array([7, 0, 12, 3, 5])  # from long to short, as they are run


class Toy(Question):
    name, summary, paper = "toy", "a toy", "none"

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"size": (), "share": ("kind", "offset")}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"kind": ["noun", "[SEP]"], "offset": [-1, 0, 1]}

    def see(self, seen: Any) -> Values:
        return {"size": seen.mean((-1, -2)), "share": seen}

    def finish(self, means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"large": (means["size"] > 0.5).astype(float), "by_stack": np.nanmean(means["size"], (1, 2))}


COORDS = coordinates(LAYOUT, IDS, Toy().coords(SETTING))


@pytest.fixture(scope="module")
def values() -> dict[str, np.ndarray]:
    """[example, stack, layer, head, ...]: absent heads are NaN, and so is a question that a text does not answer."""
    generator = np.random.default_rng(0)
    found = {
        "values_size": generator.random((5, 2, 2, 3), dtype=np.float32),
        "values_share": generator.random((5, 2, 2, 3, 2, 3), dtype=np.float32),
    }
    for array in found.values():
        array[:, 1, 1] = array[:, 1, 0, 2] = np.nan
    found["values_share"][2, ..., 1, :] = np.nan
    return found


@pytest.fixture(scope="module")
def summary(values: dict[str, np.ndarray]) -> xr.Dataset:
    found = summarise_measure(Toy(), SETTING, 4, values)
    return xr.Dataset(dict(found), coords=dict(COORDS))


def test_the_arrays(summary: xr.Dataset) -> None:
    plans = plan_values(Toy().variables(SETTING), COORDS, {"size": Schema("How large")})
    assert plans["values_share"] == ArrayPlan(
        ("example", "stack", "layer", "head", "kind", "offset"), (5, 2, 2, 3, 2, 3), "float32"
    )
    assert plans["values_size"].shape == (5, 2, 2, 3)
    assert plans["values_size"].attributes == {"long_name": "How large"}
    assert COORDS["example"][1].tolist() == IDS.tolist()
    assert COORDS["stack"][1].tolist() == ["encoder", "decoder"]
    assert COORDS["kind"][1].tolist() == ["noun", "[SEP]"]
    assert summary["share_low"].dims == ("stack", "layer", "head", "kind", "offset")
    assert summary["large"].dims == ("stack", "layer", "head")
    assert summary["by_stack"].dims == ("stack",)


def test_means_leave_out_what_is_not_there(summary: xr.Dataset, values: dict[str, np.ndarray]) -> None:
    known = values["values_share"][[0, 1, 3, 4]]
    np.testing.assert_allclose(summary["share"].sel(kind="[SEP]")[0], known[:, 0, ..., 1, :].mean(0), rtol=1e-6)
    for name in ("size", "share"):
        for suffix in ("", "_low", "_high"):
            assert np.isnan(summary[f"{name}{suffix}"].values[1, 1]).all()
            assert np.isfinite(summary[f"{name}{suffix}"].values[0]).all()
        assert (summary[f"{name}_low"] <= summary[name] + 1e-6).where(summary[name].notnull(), True).all()
        assert (summary[f"{name}_high"] >= summary[name] - 1e-6).where(summary[name].notnull(), True).all()


def test_the_summary_is_that_of_the_values_and_of_a_seed(values: dict[str, np.ndarray]) -> None:
    found = summarise_measure(Toy(), SETTING, 4, values)
    mean, low, high = mean_interval(values["values_size"], seed=4)
    for name, expected in {"size": mean, "size_low": low, "size_high": high}.items():
        np.testing.assert_array_equal(found[name][1], expected)
    assert not np.array_equal(summarise_measure(Toy(), SETTING, 5, values)["size_low"][1], low, equal_nan=True)
