"""One run: it learns, is the same for the same seed, goes on after a kill, and is not done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.data.encode import Encodings
from headcount.data.tasks import find_task
from headcount.errors import StudyProblem, TrainingDiverged
from headcount.training import run as running
from headcount.training.run import TrainingRun, known_rows, perform_run
from headcount.training.splits import read_splits
from headcount.training.trainer import RunTrainer, Settings
from tests.closeness import ROUNDED, assert_same
from tests.engines.runs import missing
from tests.training import toy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "pairs", toy.pairs(32))
    toy.save_splits(path / "noise", toy.pairs(60, noise=True))
    toy.save_splits(path / "numbers", toy.numbers(32))
    toy.save_splits(path / "tags", toy.tagged(32))
    return path


def make(
    place: Path,
    folder: Path,
    settings: Settings,
    task: str = "mrpc",
    data: str = "pairs",
    init: str = "pretrained",
    seed: int = 0,
    **more: Any,
) -> TrainingRun:
    splits = read_splits(find_task(task), place / data)
    return TrainingRun(str(place / "model"), splits, init, seed, folder, settings, **more)


@pytest.fixture(scope="module")
def learnt(place: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("learnt") / "run"
    return folder, perform_run(make(place, folder, replace(toy.QUICK, checkpoints=4)))


def test_a_tiny_model_learns_the_pairs(learnt: tuple[Path, dict[str, Any]]) -> None:
    folder, result = learnt
    assert result["scores"]["f1"] >= 0.9
    assert result["training_scores"]["accuracy"] >= 0.9
    assert result["steps"] == 80
    assert result["failed"] is False
    assert result == json.loads((folder / "result.json").read_text())
    assert not missing(result), "a training says where its scores come from, as every result does"
    assert not (folder / "state").exists()


def test_the_saved_model_is_the_one_that_was_scored(place: Path, learnt: tuple[Path, dict[str, Any]]) -> None:
    model, tokenizer = hc.load(learnt[0] / "model")
    assert model.config.id2label == {0: "not_equivalent", 1: "equivalent"}
    table = pd.read_parquet(place / "pairs" / "validation.parquet")
    with torch.no_grad():
        batch = tokenizer(list(table["sentence1"]), list(table["sentence2"]), padding=True, return_tensors="pt")
        found = model(**batch).logits.argmax(-1).numpy()
    assert (found == table["label"]).mean() == pytest.approx(learnt[1]["scores"]["accuracy"])


def test_checkpoints_are_models(learnt: tuple[Path, dict[str, Any]], place: Path) -> None:
    folder, _ = learnt
    names = sorted(one.name for one in (folder / "checkpoints").iterdir())
    assert names == ["step-000000", "step-000020", "step-000040", "step-000060", "step-000080"]
    for name in names:
        model, tokenizer = hc.load(folder / "checkpoints" / name)
        assert model.config.id2label[1] == "equivalent"
        assert tokenizer.tokenize("good") == ["good"]
    first = toy.weights(folder / "checkpoints" / names[0])
    start = toy.weights(place / "model")
    assert all(torch.equal(first[f"bert.{key}"], tensor) for key, tensor in start.items())
    assert toy.same(toy.weights(folder / "checkpoints" / names[-1]), toy.weights(folder / "model"))
    assert not toy.same(toy.weights(folder / "checkpoints" / names[2]), toy.weights(folder / "model"))


def test_the_same_seed_gives_the_same_weights(place: Path, tmp_path: Path) -> None:
    settings = replace(toy.QUICK, num_train_epochs=3)
    for name, seed in (("first", 0), ("again", 0), ("other", 1)):
        torch.rand(5)  # whatever was drawn before
        perform_run(make(place, tmp_path / name, settings, seed=seed))
    first, again, other = (toy.weights(tmp_path / name / "model") for name in ("first", "again", "other"))
    assert toy.same(first, again)
    assert not any(torch.equal(first[key], other[key]) for key in first if first[key].ndim == 2)


def test_a_result_is_not_made_twice(
    place: Path, learnt: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, result = learnt

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("built a model")

    monkeypatch.setattr(running, "build_model", never)
    settings = replace(toy.QUICK, checkpoints=4, save_steps=7, report_to=())  # changes nothing of the result
    assert perform_run(make(place, folder, settings)) == result


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"learning_rate": 1e-3}, "learning_rate: 0.005 -> 0.001"),
        ({"num_train_epochs": 21}, "num_train_epochs: 20 -> 21"),
        ({"max_length": 10}, "max_length: 128 -> 10"),
        ({"more": {"max_grad_norm": 2.0}}, "more: {} -> {'max_grad_norm': 2.0}"),
    ],
)
def test_other_settings_are_refused(
    place: Path, learnt: tuple[Path, dict[str, Any]], change: dict[str, Any], expected: str
) -> None:
    with pytest.raises(StudyProblem) as caught:
        perform_run(make(place, learnt[0], replace(toy.QUICK, checkpoints=4, **change)))
    assert f"({expected})" in str(caught.value)
    assert "give another out=" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_data_of_the_same_size_are_refused(place: Path, tmp_path: Path) -> None:
    perform_run(make(place, tmp_path / "run", toy.SHORT, init="none"))
    toy.save_splits(tmp_path / "other", toy.pairs(32, seed=9))
    run = make(place, tmp_path / "run", toy.SHORT, data=str(tmp_path / "other"), init="none")
    with pytest.raises(StudyProblem):
        perform_run(run)


def test_none_trains_nothing(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr(running, "make_trainer", never)
    result = perform_run(make(place, tmp_path, replace(toy.QUICK, checkpoints=3), init="none"))
    assert result["steps"] == 0
    assert result["failed"] is False
    assert sorted(one.name for one in tmp_path.iterdir()) == ["options.json", "result.json"]


def test_learning_nothing_is_marked(place: Path, tmp_path: Path) -> None:
    settings = Settings(per_device_train_batch_size=8, num_train_epochs=1, learning_rate=1e-9)
    result = perform_run(make(place, tmp_path / "noise", settings, data="noise"))
    assert result["training_scores"]["accuracy"] <= 0.5
    assert result["failed"] is True
    assert (tmp_path / "noise" / "model").is_dir(), "a failed run is kept: it is a result"


@pytest.mark.parametrize(
    ("task", "data"),
    [("mrpc", "pairs"), ("stsb", "numbers")],
)
def test_a_model_that_is_lost_at_the_last_step_is_not_saved(place: Path, tmp_path: Path, task: str, data: str) -> None:
    """One step at a huge rate: its loss was good, but the model that it leaves gives no numbers."""
    for rate in (1e38, 1e300):
        settings = Settings(
            per_device_train_batch_size=32, num_train_epochs=1, learning_rate=rate, warmup_steps=0, checkpoints=1
        )
        with pytest.raises(TrainingDiverged, match="lower the learning rate, now 1e.*what was saved before is kept in"):
            perform_run(make(place, tmp_path, settings, task=task, data=data))
        assert not (tmp_path / "model").exists()
        assert not (tmp_path / "result.json").exists()
        assert not (tmp_path / "options.json").exists(), "other options may be tried in its place"


def test_a_regression(place: Path, tmp_path: Path) -> None:
    result = perform_run(make(place, tmp_path, toy.QUICK, task="stsb", data="numbers"))
    assert list(result["scores"]) == ["pearson", "spearman"]
    assert result["scores"]["pearson"] > 0.8
    assert hc.load(tmp_path / "model")[0].config.problem_type == "regression"


def test_tags(place: Path, tmp_path: Path) -> None:
    result = perform_run(make(place, tmp_path, toy.QUICK, task="token-classification", data="tags"))
    assert result["scores"]["accuracy"] > 0.95
    assert hc.load(tmp_path / "model")[0].config.id2label == {0: "A", 1: "O"}


def test_rows_hold_what_the_model_takes() -> None:
    """DistilBERT knows no token types."""
    rows = [{"input_ids": [2, 5, 3], "token_type_ids": [0] * 3, "attention_mask": [1] * 3, "labels": 1, "more": 7}]
    encodings = Encodings(rows, np.array([3]), 0, 64)
    options = {"vocab_size": 9, "dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 8}
    small = tf.DistilBertForSequenceClassification(tf.DistilBertConfig(**options))
    assert known_rows(small, encodings) == [{"input_ids": [2, 5, 3], "attention_mask": [1] * 3, "labels": 1}]
    assert set(rows[0]) == {"input_ids", "token_type_ids", "attention_mask", "labels", "more"}, "not in place"


def test_cuts_are_counted(place: Path, tmp_path: Path) -> None:
    assert perform_run(make(place, tmp_path / "whole", toy.SHORT, init="none"))["cut"] == 0
    result = perform_run(make(place, tmp_path / "cut", replace(toy.SHORT, max_length=8), init="none"))
    table = toy.pairs(32)
    words = table["sentence1"].str.split().str.len() + table["sentence2"].str.split().str.len()
    assert result["cut"] == 2 * int((words + 3 > 8).sum()) > 0  # both splits are the same table


def interrupted(run: TrainingRun, at: int) -> None:
    """The run, stopped as by Ctrl-C in front of the step `at + 1`."""
    whole = RunTrainer.training_step

    def step(self: Any, *args: Any, **options: Any) -> Any:
        if self.state.global_step == at:
            raise KeyboardInterrupt
        return whole(self, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunTrainer, "training_step", step)
        with pytest.raises(KeyboardInterrupt):
            perform_run(run)


@pytest.fixture(scope="module")
def uninterrupted(place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    folder = tmp_path_factory.mktemp("uninterrupted")
    perform_run(make(place, folder, replace(toy.QUICK, num_train_epochs=4, save_steps=1)))
    return toy.weights(folder / "model")


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(3, id="in-epoch-1"),
        pytest.param(4, id="end-of-epoch-1"),
        pytest.param(8, id="end-of-epoch-2"),
        pytest.param(6, id="in-epoch-2"),
        pytest.param(13, id="in-epoch-4"),
    ],
)
def test_stopped_anywhere_it_ends_with_the_same_weights(
    place: Path, tmp_path: Path, uninterrupted: dict[str, torch.Tensor], at: int
) -> None:
    run = make(place, tmp_path, replace(toy.QUICK, num_train_epochs=4, save_steps=1, checkpoints=2))
    # 4 steps an epoch. Checkpoints are not part of the training: the weights are those of a run without them.
    interrupted(run, at)
    assert [one.name for one in (tmp_path / "state").iterdir()] == [f"checkpoint-{at}"]
    assert perform_run(run)["steps"] == 16
    assert sorted(one.name for one in (tmp_path / "checkpoints").iterdir()) == [
        "step-000000",
        "step-000008",
        "step-000016",
    ]
    found = toy.weights(tmp_path / "model")
    for key, tensor in uninterrupted.items():
        assert_same(found[key], tensor, ROUNDED, key)


def test_a_half_written_state_is_not_gone_on_with(
    place: Path, tmp_path: Path, uninterrupted: dict[str, torch.Tensor]
) -> None:
    run = make(place, tmp_path, replace(toy.QUICK, num_train_epochs=4, save_steps=1))
    interrupted(run, 4)
    (tmp_path / "state" / "checkpoint-5").mkdir()
    (tmp_path / "state" / "checkpoint-5" / "model.safetensors").write_bytes(b"half")
    assert perform_run(run)["steps"] == 16
    assert toy.same(toy.weights(tmp_path / "model"), uninterrupted)


SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from tests.training.test_run import make
from tests.training import toy
from headcount.training.run import perform_run
place, folder = map(Path, sys.argv[1:])
perform_run(make(place, folder, replace(toy.QUICK, num_train_epochs=40, save_steps=4)))
"""


def test_killed_it_goes_on(place: Path, tmp_path: Path) -> None:
    """A real kill after the first state was saved; states fall on the ends of epochs here."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    command = [sys.executable, "-c", SCRIPT, str(place), str(tmp_path / "killed")]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    state = tmp_path / "killed" / "state"
    while process.poll() is None and not list(state.glob("checkpoint-*/trainer_state.json")):
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "result.json").exists()
    settings = replace(toy.QUICK, num_train_epochs=40, save_steps=4)
    began = []
    train = RunTrainer.train
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            RunTrainer,
            "train",
            lambda self, resume_from_checkpoint=None: (
                began.append(resume_from_checkpoint),
                train(self, resume_from_checkpoint),
            )[1],
        )
        perform_run(make(place, tmp_path / "killed", settings))
    assert began
    assert began[0] is not None
    assert began[0].startswith(str(state))
    perform_run(make(place, tmp_path / "whole", replace(settings, save_steps=1000)))
    whole, found = (toy.weights(tmp_path / name / "model") for name in ("whole", "killed"))
    for key, tensor in whole.items():
        # The bias of the keys adds the same to all scores of a query, which softmax does not see: its gradient is
        # nothing but rounding, other in each process, and Adam makes steps of it that are as large as any other's.
        if not key.endswith("key.bias"):
            assert_same(found[key], tensor, ROUNDED, key)
