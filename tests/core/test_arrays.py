"""Arrays of a study: a chunk for each unit of work, texts and gaps as they were, units that are words for times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import zarr

from headcount.core.arrays import open_result, plan_array, put_array
from headcount.core.checked_store import CheckedStore
from headcount.core.results import ArrayPlan


@pytest.fixture
def group(tmp_path: Path) -> zarr.Group:
    return zarr.open_group(
        tmp_path / "study/result", mode="w", zarr_format=3, attributes={"digest": "x", "task": "rte"}
    )


def test_a_chunk_for_each_unit(group: zarr.Group) -> None:
    plan_array(group, "logits", ArrayPlan(("set", "example"), (3, 10), "float32", {"units": "nats"}), 4)
    plan_array(group, "done", ArrayPlan(("work_unit",), (3,), "bool"), 4)
    plan_array(group, "nothing", ArrayPlan(("set", "example"), (0, 10), "int32"), 4)
    assert group["logits"].chunks == (3, 4)
    assert group["done"].chunks == (1,)
    assert group["nothing"].chunks == (1, 4)
    assert np.isnan(group["logits"][...]).all()
    assert dict(group["logits"].attrs) == {"units": "nats"}


@pytest.mark.parametrize(
    "values",
    [np.array([[0.5, np.nan]]), np.array([["L0H1", "\u00fc"]], dtype=object), np.zeros((0, 2)), np.array([[7, 8]])],
)
def test_whole_arrays_come_back(tmp_path: Path, group: zarr.Group, values: np.ndarray) -> None:
    put_array(group, "values", (("row", "column"), values, {"units": "ms"}))
    result = open_result(CheckedStore(tmp_path / "study"), "result").load()
    np.testing.assert_array_equal(result["values"].values, values)
    assert result["values"].dims == ("row", "column")
    assert result["values"].attrs["units"] == "ms"
    assert result.attrs == {"task": "rte"}, "without what only the checks need"


def test_each_layer_in_a_chunk_of_its_own(group: zarr.Group) -> None:
    put_array(group, "maps", (("layer", "query"), np.ones((2, 3))), by_layer=True)
    assert group["maps"].chunks == (1, 3)
