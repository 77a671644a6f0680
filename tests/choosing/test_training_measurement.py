"""What every measurement along a training gives: labelled arrays, numbers for all layers and heads, plain settings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headcount.choosing.training_gates import TrainingGates
from headcount.choosing.training_importance import TrainingImportance
from headcount.choosing.training_measurement import Measurement, Scene
from headcount.core.results import HEAD_DIMS
from headcount.core.schema import read_schema
from headcount.data.tasks import find_task
from tests import planted
from tests.choosing.gates import needy
from tests.measures.tiny import assert_untouched, first_output
from tests.pruning import jobs
from tests.pruning import planted as parts


@pytest.mark.parametrize(
    "measurement", [TrainingImportance("michel"), TrainingGates(0.01, 2, 0)], ids=lambda measurement: measurement.what
)
def test_a_measurement_keeps_its_contract(measurement: Measurement, tmp_path: Path) -> None:
    model, tokenizer = needy(), planted.tokenizer(tmp_path)
    batch = dict(tokenizer("it is good", return_tensors="pt"))
    said = first_output(model, batch)
    scene = Scene(jobs.job_of(model, parts.texts(8), find_task("sst2"), tokenizer), 0, 64)
    rows = [measurement.row(scene, 4) for _ in range(2)]
    assert_untouched(model, batch, said)
    assert [row.step for row in rows] == [4, 4]
    for name, values in rows[0].arrays.items():
        np.testing.assert_array_equal(values, rows[1].arrays[name], err_msg="the same model and step")
        assert values.dtype == np.float32
    assert measurement.order in rows[0].arrays
    assert measurement.by_layer(rows[0])[1].shape == (1, 2)
    assert measurement.by_head(rows[0])[1].shape == (1, 2, 4)
    settings = measurement.settings(scene)
    assert json.loads(json.dumps(settings)) == settings
    result = xr.Dataset(dict(measurement.arrays(rows)))
    for name, array in result.data_vars.items():
        assert array.dims in (("checkpoint",), ("checkpoint", *HEAD_DIMS))
        assert read_schema(array) is not None, name
    assert measurement.order in result
