"""Is every checkpoint's curve what its model gives alone, when does the order settle, and does a stop lose anything?"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import spearmanr

import headcount as hc
from headcount.choosing import dynamics as module
from headcount.choosing.curves import curve
from headcount.choosing.dynamics import dynamics, find_checkpoints
from headcount.choosing.halves import halves
from headcount.choosing.importance import Passes, importance
from headcount.choosing.orders import by_values
from headcount.core.claims import settled_at
from headcount.errors import DataProblem, InvalidOption, ModelUnavailable, StudyProblem
from tests.training import toy

DATA = toy.pairs(60, seed=5)
STEPS = [0, 8, 16, 24]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training with three checkpoints and the one before it."""
    place = tmp_path_factory.mktemp("dynamics")
    toy.save_checkpoint(place / "model")
    toy.save_splits(place / "data", toy.pairs(32))
    hc.finetune(
        place / "model",
        "mrpc",
        place / "data",
        place / "runs",
        settings=replace(toy.QUICK, num_train_epochs=6, checkpoints=3),
    )
    return place / "runs" / "mrpc" / "pretrained" / "seed-0"


@pytest.fixture(scope="module")
def found(run: Path) -> xr.Dataset:
    return dynamics(run, DATA, task="mrpc", steps=4)


def test_what_the_result_holds(found: xr.Dataset) -> None:
    assert found["checkpoint"].values.tolist() == STEPS
    assert found["removed"].values.tolist() == [1, 2, 3, 4]
    assert found["score"].dims == found["delta"].dims == found["low"].dims == ("checkpoint", "removed")
    assert found["importance"].dims == ("checkpoint", "stack", "layer", "head")
    np.testing.assert_allclose(found["score"] - found["baseline"], found["delta"], atol=1e-9)
    assert found.attrs["metric"] == "f1"
    assert found.attrs["examples"] == 30
    assert found.attrs["heads"] == 4
    assert float(found["baseline"][-1]) > float(found["baseline"][0]) - 1e-9


def test_each_checkpoint_is_what_its_model_gives_alone(run: Path, found: xr.Dataset) -> None:
    first, second = halves(DATA, None, 0)
    for number in (0, 2):
        model, tokenizer = hc.load(run / "checkpoints" / f"step-{STEPS[number]:06d}")
        alone = importance(model, tokenizer, first, task="mrpc")
        np.testing.assert_allclose(found["importance"][number], alone["michel_normed"], rtol=1e-4)
        order = by_values(alone["michel_normed"].values, hc.read_anatomy(model).layout)
        expected = curve(model, tokenizer, second, {"one": order}, task="mrpc", steps=4)
        for key in ("score", "delta", "low", "high"):
            np.testing.assert_allclose(found[key][number], expected[key][0], atol=1e-9, err_msg=key)
        assert float(found["baseline"][number]) == pytest.approx(float(expected["baseline"]))


def test_agreement_with_the_last(found: xr.Dataset) -> None:
    values = found["importance"].values.reshape(len(STEPS), -1)
    expected = [spearmanr(one, values[-1])[0] for one in values]
    np.testing.assert_allclose(found["agreement"], expected)
    assert float(found["agreement"][-1]) == pytest.approx(1)
    assert bool((found["agreement_low"] <= found["agreement"]).all())
    assert bool((found["agreement"] <= found["agreement_high"]).all())


def test_another_estimator_and_metric(run: Path) -> None:
    found = dynamics(run, DATA, task="mrpc", steps=1, estimator="taylor", metric="accuracy", limit=40, seed=2)
    assert found.attrs["estimator"] == "taylor"
    assert found.attrs["metric"] == "accuracy"
    assert found.attrs["examples"] == 20
    assert float(found["importance"].min()) < 0


def hand_made(agreement: list[float]) -> xr.Dataset:
    return xr.Dataset({"agreement": ("checkpoint", agreement)}, {"checkpoint": [10 * n for n in range(len(agreement))]})


@pytest.mark.parametrize(
    ("agreement", "expected"),
    [
        ([0.1, 0.5, 0.92, 0.95, 1.0], 20),
        ([0.95, 0.5, 0.95, 1.0], 20),  # it left again
        ([0.9, 0.9, 1.0], 0),  # just enough
        ([0.1, 0.2, 0.3, 1.0], None),  # that the last agrees with itself is no proof
        ([0.1, 0.95, 0.89, 1.0], None),
        ([float("nan"), 0.95, 1.0], 10),
        ([1.0, 1.0], 0),
    ],
)
def test_when_the_order_settles(agreement: list[float], expected: int | None) -> None:
    assert settled_at(hand_made(agreement)) == expected


def test_where_the_checkpoints_are(run: Path, tmp_path: Path) -> None:
    names = [f"step-{step:06d}" for step in STEPS]
    assert [one.name for one in find_checkpoints(run)] == names
    assert find_checkpoints(run / "checkpoints") == find_checkpoints(str(run))
    for name in ("step-000010", "step-000002", "other", "step-000100"):
        (tmp_path / name).mkdir()
    assert [one.name for one in find_checkpoints(tmp_path)] == ["step-000002", "step-000010", "step-000100"]


def test_a_folder_without_checkpoints(run: Path, tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path, run / "model"):
        with pytest.raises(InvalidOption, match="has 0 checkpoints.*finetune --checkpoints with at least 2"):
            dynamics(place, DATA, task="mrpc", study=tmp_path / "study")
    shutil.copytree(run / "checkpoints" / "step-000008", tmp_path / "one" / "checkpoints" / "step-000008")
    with pytest.raises(InvalidOption, match="has 1 checkpoints"):
        dynamics(tmp_path / "one", DATA, task="mrpc")
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("data", "options", "kind", "expected"),
    [
        (DATA.head(30), {}, DataProblem, "got 30 examples; expected at least 40"),
        (DATA, {"limit": 10}, DataProblem, "got 10 examples"),
        (DATA, {"task": "nonsense"}, InvalidOption, "expected one of"),
        (DATA.drop(columns="label"), {}, DataProblem, "no label column"),
        pytest.param(DATA, {"task": "stsb"}, ModelUnavailable, "needs a model with one"),
        pytest.param(DATA, {"estimator": "best"}, InvalidOption, "best"),
    ],
)
def test_what_is_refused(
    run: Path, data: pd.DataFrame, options: dict[str, Any], kind: type[Exception], expected: str
) -> None:
    with pytest.raises(kind, match=expected):
        dynamics(run, data, **{"task": "mrpc"} | options)


def test_what_is_refused_is_refused_before_anything_is_written(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="at least 1"):
        dynamics(run, DATA, task="mrpc", steps=0, study=tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_stopped_it_goes_on(run: Path, found: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def stopping(*args: Any, **options: Any) -> Any:
        calls.append(options["name"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return curve(*args, **options)

    monkeypatch.setattr(module, "curve", stopping)
    study = tmp_path / "study"
    with pytest.raises(KeyboardInterrupt):
        dynamics(run, DATA, task="mrpc", steps=4, study=study)
    there = set(hc.open_study(study)["pruning"].children)
    assert there == {"importance@step-000000", "curve@step-000000", "importance@step-000008"}
    batches: list[int] = []

    plain = Passes.run

    def counted(passes: Any, rows: Any) -> Any:
        batches.append(len(rows))
        return plain(passes, rows)

    monkeypatch.setattr(Passes, "run", counted)
    told: list[str] = []
    again = dynamics(run, DATA, task="mrpc", steps=4, study=study, progress=lambda done, total, step: told.append(step))
    assert sum(batches) == 60, "two checkpoints of 30 examples were left"
    xr.testing.assert_allclose(again, found)
    assert {"step-000000", "step-000024"} <= set(told)
    stored = hc.open_study(study)["pruning/dynamics"].to_dataset()
    assert stored.attrs["complete"]
    for key in ("score", "agreement", "importance"):
        np.testing.assert_allclose(stored[key], found[key])
    batches.clear()
    xr.testing.assert_identical(dynamics(run, DATA, task="mrpc", steps=4, study=study), again)
    assert not batches
    with pytest.raises(StudyProblem, match="already, made with other options"):
        dynamics(run, DATA, task="mrpc", steps=2, study=study)
