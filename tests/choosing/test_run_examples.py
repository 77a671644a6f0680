"""The checkpoints of a run are examined on what the run itself was trained for and scored on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr

import headcount as hc
from headcount.choosing.dynamics import dynamics
from headcount.errors import InvalidOption
from tests.choosing.test_dynamics import DATA
from tests.choosing.test_dynamics import run as run
from tests.training import toy


def test_the_runs_own_task_and_examples(run: Path, tmp_path: Path) -> None:
    """Nothing is named, and the validation examples are those that the run was scored on."""
    place = run.parents[3]
    toy.save_splits(place / "more", toy.pairs(32), toy.pairs(60, seed=9))
    hc.finetune(
        place / "model",
        "mrpc",
        place / "more",
        tmp_path / "runs",
        settings=replace(toy.QUICK, num_train_epochs=2, checkpoints=1),
    )
    own = tmp_path / "runs" / "mrpc" / "pretrained" / "seed-0"
    named = dynamics(own, place / "more", task="mrpc", steps=2)
    for found in (dynamics(own, steps=2), dynamics(own / "checkpoints", steps=2), dynamics(own, task="mrpc", steps=2)):
        xr.testing.assert_allclose(found, named)
        assert found.attrs["identity"] == named.attrs["identity"]
    assert dynamics(own, DATA, steps=2).attrs["identity"] == dynamics(own, DATA, task="mrpc", steps=2).attrs["identity"]


def test_a_run_on_a_file_is_examined_on_what_it_held_out(run: Path, tmp_path: Path) -> None:
    data = toy.numbers(240).rename(columns={"sentence1": "left", "sentence2": "right", "label": "close"})
    data.to_csv(tmp_path / "pairs.csv", index=False)
    task = hc.find_task("stsb", text=["left", "right"], label="close")
    settings = replace(toy.SHORT, checkpoints=1)
    hc.finetune(run.parents[3] / "model", task, tmp_path / "pairs.csv", tmp_path / "runs", settings=settings)
    found = dynamics(tmp_path / "runs" / "stsb" / "pretrained" / "seed-0", steps=2)
    assert found.attrs["examples"] == 24, "half of a fifth"


def test_a_run_that_does_not_say(run: Path, tmp_path: Path) -> None:
    """An earlier version wrote no source, and a table in memory has none."""
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "result.json").write_text("{}")
    with pytest.raises(InvalidOption, match="does not say what its run was trained for; give task= and data="):
        dynamics(tmp_path / "run")
    with pytest.raises(InvalidOption, match="examples of classification are; give them with data="):
        dynamics(run, task="classification")
