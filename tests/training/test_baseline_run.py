"""One run of a baseline: it learns a planted cue, depends on its seed alone, and is not done twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.data.tasks import find_task
from headcount.errors import StudyProblem
from headcount.training import baseline_run
from headcount.training.baseline_run import BaselineRun, perform_baseline
from headcount.training.parts import Part, restrict
from headcount.training.splits import Splits
from headcount.training.vector_model import READERS
from tests.training import toy

WARRANTS = ("warrant0", "warrant1")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return toy.save_checkpoint(tmp_path_factory.mktemp("toy") / "model")


def choices(part: Part = Part("all", ("claim", "reason"), WARRANTS)) -> Splits:  # noqa: B008
    task = find_task("multiple-choice", text=WARRANTS)
    return restrict(Splits(task, toy.choices(96), toy.choices(64, seed=1), ()), part)


def pairs() -> Splits:
    names = ("no", "yes")
    task = replace(find_task("classification", text=("sentence1", "sentence2")), names=names, user_labels=names)
    return Splits(task, toy.pairs(96), toy.pairs(64, seed=1), names)


def numbers() -> Splits:
    return Splits(find_task("stsb"), toy.numbers(96), toy.numbers(64, seed=1), ())


@pytest.mark.parametrize("baseline", READERS)
@pytest.mark.parametrize("splits", [choices, pairs, numbers])
def test_a_planted_cue_is_learned(model: str, tmp_path: Path, baseline: str, splits: Any) -> None:
    result = perform_baseline(BaselineRun(model, splits(), baseline, 0, tmp_path, 64))
    assert next(iter(result["scores"].values())) > 0.9
    assert result["failed"] is False
    assert sorted(file.name for file in tmp_path.iterdir()) == ["options.json", "result.json"], "scores alone are kept"


def test_without_a_cue_it_is_at_chance(model: str, tmp_path: Path) -> None:
    splits = replace(pairs(), task=replace(pairs().task, texts=(("sentence1",),)))
    result = perform_baseline(BaselineRun(model, splits, "bag-of-vectors", 0, tmp_path, 64))
    assert 0.3 < result["scores"]["accuracy"] < 0.7


@pytest.mark.parametrize("baseline", READERS)
def test_a_run_depends_on_its_seed_alone(model: str, tmp_path: Path, baseline: str) -> None:
    few = replace(choices(), train=choices().train[:16])
    made = [
        perform_baseline(BaselineRun(model, few, baseline, seed, tmp_path / str(number), 64))
        for number, seed in enumerate((0, 0, 1))
    ]
    assert made[0]["scores"] == made[1]["scores"]
    assert made[0]["training_scores"] == made[1]["training_scores"]
    assert made[0]["identity"] != made[2]["identity"]


def test_a_result_is_not_made_twice(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = BaselineRun(model, replace(choices(), train=choices().train[:16]), "bag-of-vectors", 0, tmp_path, 64)
    result = perform_baseline(run)
    monkeypatch.setattr(baseline_run, "input_vectors", lambda *_: pytest.fail("loaded a model"))
    assert perform_baseline(replace(run, call="another")) == result
    with pytest.raises(StudyProblem, match="max_length: 64 -> 32"):
        perform_baseline(replace(run, max_length=32))
