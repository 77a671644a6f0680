"""Values as they come, in memory and in a study: the same Dataset, in the order of the texts, whatever came first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from headcount.core.heads import Layout
from headcount.core.statistics import mean_interval
from headcount.core.store import open_study
from headcount.errors import StudyProblem
from headcount.measures.contract import Measure, Setting
from headcount.measures.results import FolderResult, MemoryResult, summarise

LAYOUT = Layout({"encoder": ((0, 1, 2), (0, 1, 2)), "decoder": ((0, 1),)})
SETTING = Setting(("first",), False, False, None, {"encoder": 2, "decoder": 1}, 3)
IDS = np.array([7, 0, 12, 3, 5])  # from long to short, as they are run
UNITS = [(0, 2), (2, 4), (4, 5)]
IDENTITY = {"measure": "toy", "seed": 0}
SAID = {"group": "measures", "measure": "toy"}


class Toy(Measure):
    name, summary, paper = "toy", "a toy", "none"

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"size": (), "share": ("kind", "offset")}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"kind": ["noun", "[SEP]"], "offset": [-1, 0, 1]}

    def finish(self, means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"large": (means["size"] > 0.5).astype(float), "by_stack": np.nanmean(means["size"], (1, 2))}


@pytest.fixture(scope="module")
def values() -> dict[str, np.ndarray]:
    """[example, stack, layer, head, ...]: absent heads are NaN, and so is a question that a text does not answer."""
    generator = np.random.default_rng(0)
    found = {
        "size": generator.random((5, 2, 2, 3), dtype=np.float32),
        "share": generator.random((5, 2, 2, 3, 2, 3), dtype=np.float32),
    }
    for array in found.values():
        array[:, 1, 1] = array[:, 1, 0, 2] = np.nan
    found["share"][2, ..., 1, :] = np.nan
    return found


def part(values: dict[str, np.ndarray], unit: int) -> dict[str, np.ndarray]:
    return {name: array[slice(*UNITS[unit])] for name, array in values.items()}


def in_folder(path: Path, name: str | None = None, identity: dict[str, Any] = IDENTITY) -> FolderResult:
    return FolderResult(path, name, identity, Toy(), SETTING, LAYOUT, IDS, SAID, UNITS)


@pytest.fixture(scope="module")
def remembered(values: dict[str, np.ndarray]) -> xr.Dataset:
    result = MemoryResult(Toy(), SETTING, LAYOUT, IDS, SAID, UNITS)
    assert result.done() == [False] * 3
    for unit in (2, 0, 1):
        result.save(unit, part(values, unit))
    return result.finish(seed=4)


def test_the_dataset(remembered: xr.Dataset, values: dict[str, np.ndarray]) -> None:
    assert remembered["example"].values.tolist() == [0, 3, 5, 7, 12]
    assert remembered["stack"].values.tolist() == ["encoder", "decoder"]
    assert remembered["values_share"].dims == ("example", "stack", "layer", "head", "kind", "offset")
    assert remembered["share_low"].dims == ("stack", "layer", "head", "kind", "offset")
    assert remembered["large"].dims == ("stack", "layer", "head")
    assert remembered["by_stack"].dims == ("stack",)
    assert remembered["values_size"].dtype == np.float32
    for place, number in enumerate(IDS):
        np.testing.assert_array_equal(remembered["values_share"].sel(example=number), values["share"][place])
    assert remembered["kind"].values.tolist() == ["noun", "[SEP]"]
    assert remembered.attrs == SAID


def test_means_leave_out_what_is_not_there(remembered: xr.Dataset, values: dict[str, np.ndarray]) -> None:
    known = values["share"][[0, 1, 3, 4]]
    np.testing.assert_allclose(remembered["share"].sel(kind="[SEP]")[0], known[:, 0, ..., 1, :].mean(0), rtol=1e-6)
    for name in ("size", "share"):
        for suffix in ("", "_low", "_high"):
            assert np.isnan(remembered[f"{name}{suffix}"].values[1, 1]).all()
            assert np.isfinite(remembered[f"{name}{suffix}"].values[0]).all()
        assert (remembered[f"{name}_low"] <= remembered[name] + 1e-6).where(remembered[name].notnull(), True).all()
        assert (remembered[f"{name}_high"] >= remembered[name] - 1e-6).where(remembered[name].notnull(), True).all()


def test_the_summary_is_that_of_the_ordered_values(values: dict[str, np.ndarray]) -> None:
    order = np.argsort(IDS)
    ordered = {name: array[order] for name, array in values.items()}
    found = summarise(Toy(), SETTING, ordered, seed=4)
    mean, low, high = mean_interval(ordered["size"], seed=4)
    for name, expected in {"size": mean, "size_low": low, "size_high": high}.items():
        np.testing.assert_array_equal(found[name][1], expected)
    assert not np.array_equal(summarise(Toy(), SETTING, ordered, seed=5)["size_low"][1], low, equal_nan=True)


def test_a_study_holds_the_same(tmp_path: Path, remembered: xr.Dataset, values: dict[str, np.ndarray]) -> None:
    result = in_folder(tmp_path / "study")
    for unit in (1, 0, 2):
        assert not result.complete
        result.save(unit, part(values, unit))
    found = result.finish(seed=4)
    assert result.complete
    for dataset in (found, open_study(tmp_path / "study")["measures/toy"].to_dataset().sortby("example")):
        for name in remembered.variables:
            np.testing.assert_array_equal(dataset[name].values, remembered[name].values, err_msg=str(name))
            assert dataset[name].dims == remembered[name].dims
        assert dataset.attrs["complete"] is True
        assert dataset.attrs["identity"] == IDENTITY


def test_a_study_goes_on_where_it_stopped(
    tmp_path: Path, remembered: xr.Dataset, values: dict[str, np.ndarray]
) -> None:
    in_folder(tmp_path / "study").save(1, part(values, 1))
    result = in_folder(tmp_path / "study")
    assert result.done() == [False, True, False]
    assert not result.complete
    half = result.finish(seed=4)  # nothing is said about all texts before all are there
    assert "size" not in half
    assert np.isnan(half["values_size"].sel(example=7)).all()
    assert not result.complete
    result.save(0, part(values, 0))
    in_folder(tmp_path / "study").save(2, part(values, 2))
    whole = in_folder(tmp_path / "study").finish(seed=4)
    np.testing.assert_array_equal(whole["share_high"].values, remembered["share_high"].values)


def test_killed_before_the_summary(tmp_path: Path, remembered: xr.Dataset, values: dict[str, np.ndarray]) -> None:
    result = in_folder(tmp_path / "study")
    for unit in range(3):
        result.save(unit, part(values, unit))
    again = in_folder(tmp_path / "study")
    assert all(again.done())
    assert not again.complete
    np.testing.assert_array_equal(again.finish(seed=4)["size"].values, remembered["size"].values)


def test_other_options_are_refused_and_another_name_is_not(tmp_path: Path) -> None:
    in_folder(tmp_path / "study")
    with pytest.raises(StudyProblem, match="seed: 0 -> 1") as found:
        in_folder(tmp_path / "study", identity=IDENTITY | {"seed": 1})
    assert "\n" not in str(found.value)
    in_folder(tmp_path / "study", "other", IDENTITY | {"seed": 1})
    assert set(open_study(tmp_path / "study")["measures"].children) == {"toy", "toy@other"}
    with pytest.raises(StudyProblem, match="expected letters"):
        in_folder(tmp_path / "study", "a name")
