"""Parts of the input: where the label is planted, resumed runs, and what is refused before any of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headcount as hc
from headcount.data.tasks import find_task
from headcount.errors import BlankRows, CannotWrite, DataProblem, InvalidOption, StudyProblem
from headcount.training import partial as parts
from headcount.training.part_scores import summarise_parts
from tests.training import toy

WARRANTS = ("warrant0", "warrant1")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "pairs" / "RTE", toy.pairs(64), toy.pairs(60, seed=1))
    toy.save_splits(path / "choices", toy.choices(64), toy.choices(60, seed=1))
    return path


@pytest.fixture(scope="module")
def pairs(place: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """Only the second sentence carries the label."""
    out = tmp_path_factory.mktemp("pairs") / "new" / "parts"
    inputs = ["sentence1", "sentence2", "all"]
    settings = replace(toy.QUICK, num_train_epochs=10)
    return out, hc.partial(place / "model", place / "pairs", out, inputs=inputs, task="rte", seeds=3, settings=settings)


def test_the_part_with_the_label_keeps_everything(pairs: tuple[Path, pd.DataFrame]) -> None:
    out, table = pairs
    summary = summarise_parts(table).set_index(["input", "model"])
    assert list(summary.index) == [
        (name, model)
        for name in ("sentence1", "sentence2", "all")
        for model in ("fine-tuned", "bag-of-vectors", "bilstm")
    ]
    for model in ("fine-tuned", "bag-of-vectors", "bilstm"):
        assert summary.loc[("sentence2", model), "mean"] > 0.9
        assert not summary.loc[("sentence1", model), "above_chance"]
    kept = summary.loc[("sentence2", "fine-tuned")]
    assert kept["kept"] > 0.9
    assert abs(summary.loc[("sentence1", "fine-tuned"), "kept"]) < 0.4
    assert set(table["majority"]) == set(table["chance"]) == {0.5}
    assert set(table["examples"]) == {60}
    assert sorted(file.name for file in (out / "all" / "fine-tuned" / "seed-0").iterdir()) == [
        "options.json",
        "result.json",
    ], "no models, which would fill the disk"


def test_the_tables_are_in_the_folder(pairs: tuple[Path, pd.DataFrame]) -> None:
    out, table = pairs
    pd.testing.assert_frame_equal(pd.read_csv(out / "runs.csv"), table, check_dtype=False)
    pd.testing.assert_frame_equal(pd.read_csv(out / "summary.csv"), summarise_parts(table), check_dtype=False)


def test_the_same_call_does_nothing(
    place: Path, pairs: tuple[Path, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, table = pairs
    for name in ("run.build_model", "baseline_run.load_model"):
        monkeypatch.setattr(f"headcount.training.{name}", lambda *_, **__: pytest.fail("loaded a model"))
    settings = replace(toy.QUICK, num_train_epochs=10)
    options: dict[str, Any] = {"inputs": ["sentence1", "sentence2", "all"], "task": find_task("rte"), "seeds": 3}
    again = hc.partial(place / "model", place / "pairs", out, settings=settings, **options)
    pd.testing.assert_frame_equal(again, table)
    with pytest.raises(StudyProblem, match="learning_rate: 0.005 -> 0.1"):
        hc.partial(place / "model", place / "pairs", out, settings=replace(settings, learning_rate=0.1), **options)


def test_choices_and_their_context(place: Path, tmp_path: Path) -> None:
    table = hc.partial(
        place / "model",
        place / "choices",
        tmp_path,
        inputs=["warrant", "all"],
        text=["claim", "reason"],
        choices=WARRANTS,
        seeds=[4],
        baselines="none",
        settings=replace(toy.QUICK, num_train_epochs=10),
        keep_models=True,
    )
    assert list(table["score"] > 0.9) == [True, True]
    assert list(table["chance"]) == [0.5, 0.5]
    model, _ = hc.load(tmp_path / "warrant" / "fine-tuned" / "seed-4" / "model")
    assert type(model).__name__ == "BertForMultipleChoice"


def test_models_that_were_not_kept_are_trained_for(place: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"inputs": "choices", "choices": WARRANTS, "seeds": 1, "settings": toy.SHORT}
    options["baselines"] = []
    made = [
        hc.partial(place / "model", place / "choices", tmp_path, keep_models=keep, **options)
        for keep in (False, True, False)
    ]
    assert (tmp_path / "all" / "fine-tuned" / "seed-0" / "model" / "config.json").is_file()
    assert len({table["score"][0] for table in made}) == 1
    assert made[1]["seconds"][0] == made[2]["seconds"][0] != made[0]["seconds"][0]


def test_rows_that_are_blank_in_one_input_are_left_out_of_all(place: Path, tmp_path: Path) -> None:
    """Otherwise the parts would be compared on different examples."""
    table = toy.pairs(20)
    table.loc[3, "sentence2"] = "  "
    toy.save_splits(tmp_path / "data", table)
    with pytest.warns(BlankRows, match="1 of 20 rows is blank"):
        made = hc.partial(
            place / "model",
            tmp_path / "data",
            tmp_path / "out",
            inputs=["sentence2", "all"],
            task="classification",
            seeds=1,
            settings=toy.SHORT,
            baselines="bag-of-vectors",
        )
    assert set(made["examples"]) == {19}
    assert made[made["model"] == "fine-tuned"]["steps"].tolist() == [3, 3]


SCRIPT = """
import sys
from pathlib import Path
from tests.training.test_partial import long_call
long_call(*map(Path, sys.argv[1:]))
"""


def long_call(place: Path, out: Path, jobs: int = 1) -> pd.DataFrame:
    settings = replace(toy.QUICK, num_train_epochs=12, save_steps=4)
    return hc.partial(
        place / "model",
        place / "choices",
        out,
        inputs=["warrant", "reason,warrant"],
        choices=WARRANTS,
        seeds=2,
        settings=settings,
        jobs=jobs,
        limit=32,
    )


def test_killed_and_resumed_it_ends_as_if_uninterrupted(place: Path, tmp_path: Path) -> None:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    command = [sys.executable, "-c", SCRIPT, str(place), str(tmp_path / "killed")]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    second = tmp_path / "killed" / "warrant" / "fine-tuned" / "seed-1" / "state"
    while process.poll() is None and not list(second.glob("checkpoint-*/trainer_state.json")):
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "runs.csv").exists()
    resumed, whole = long_call(place, tmp_path / "killed"), long_call(place, tmp_path / "whole")
    columns = ["input", "model", "seed", "score", "training_score", "failed", "steps"]
    pd.testing.assert_frame_equal(resumed[columns], whole[columns])


def test_side_by_side_is_as_one_by_one(place: Path, tmp_path: Path) -> None:
    one, two = (
        hc.partial(
            place / "model",
            place / "choices",
            tmp_path / str(jobs),
            inputs=["warrant"],
            choices=WARRANTS,
            seeds=1,
            settings=toy.SHORT,
            jobs=jobs,
        ).drop(columns=["seconds", "folder"])
        for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"seeds": 0}, "got seeds=0; expected at least 1"),
        ({"seeds": [2, 2]}, "got 2 twice in seeds="),
        ({"jobs": 0}, "got jobs=0"),
        ({"inputs": []}, "without an input"),
        ({"baselines": "tfidf"}, "got 'tfidf' in baselines=; expected some of bag-of-vectors, bilstm, or none"),
        ({"baselines": ["bilstm", "bilstm"]}, "bilstm twice"),
        ({"choices": None}, "got neither task= nor choices="),
        ({"choices": ["warrant0"]}, r"got choices=\['warrant0'\]; expected at least two columns"),
        ({"choices": ["warrant0", "warrant0"]}, "warrant0 twice in choices="),
        ({"task": "rte"}, "got choices=, which has no effect here: rte is no multiple choice"),
        ({"task": "masked-lm", "choices": None}, "masked-lm; expected classification, regression, multiple-choice"),
        ({"task": find_task("rte"), "choices": None, "text": ["a"]}, "text=, which has no effect"),
        ({"task": "classification", "choices": None, "text": list("abc")}, "expected one or two columns"),
        ({"task": find_task("multiple-choice", text=["a", "b", "c"], metric="loss"), "choices": None}, "metric loss"),
    ],
)
def test_refused_before_anything_is_loaded(place: Path, tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    good: dict[str, Any] = {"inputs": ["warrant"], "choices": WARRANTS}
    with pytest.raises(InvalidOption, match=expected) as caught:
        hc.partial(place / "no model", place / "choices", tmp_path / "out", **(good | change))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_refused_for_the_data(place: Path, tmp_path: Path) -> None:
    good: dict[str, Any] = {"model": place / "model", "data": place / "choices", "out": tmp_path / "out"}
    good |= {"inputs": ["warrant"], "choices": WARRANTS}
    with pytest.raises(DataProblem, match="no column 'backing' for the inputs; the data has claim, reason"):
        hc.partial(**good | {"inputs": ["warrant,backing"]})
    with pytest.raises(DataProblem, match="no column option1"):
        hc.partial(**good | {"choices": ["option1", "option2"]})
    toy.save_splits(tmp_path / "one", toy.choices(8).assign(label=0))
    with pytest.raises(DataProblem, match=r"train has one label only \(0\)"):
        hc.partial(**good | {"data": tmp_path / "one"})
    with pytest.raises(DataProblem, match="no label column 'stars'"):
        hc.partial(**good | {"label": "stars"})
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite):
        hc.partial(**good | {"out": tmp_path / "file"})


def test_multiple_choice_as_other_verbs_name_it() -> None:
    """The context, then each choice."""
    columns = parts._find_columns("multiple-choice", ["claim", *WARRANTS], None, None)
    assert (columns.text, columns.choices) == (("claim",), WARRANTS)
    task = find_task("multiple-choice", text=["claim", *WARRANTS])
    assert parts._find_columns(task, None, None, None) == columns
