"""`--engine ray`: on every verb that runs units, with its options, and one line where it cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.engine_options import OPTIONS
from headcount.cli.main import app, main
from headcount.cli.wording import option_names

VERBS = (
    *("sweep", "measure", "compare", "find-patterns", "probe", "importance", "attribution", "curve", "choose"),
    *("prune", "dynamics", "finetune", "partial"),
)
IMPORTANCE = "importance bundled:qnli --task qnli --data bundled:pairs --limit 40"


def test_every_verb_that_runs_units_has_the_options() -> None:
    having = {verb for verb in app if not verb.startswith("-") and "engine" in option_names(app[verb])}
    assert having == set(VERBS)
    for verb in VERBS:
        assert set(OPTIONS) < set(option_names(app[verb]))


def test_the_help_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["importance", "--help"]) == 0
    said = capsys.readouterr().out
    assert said.index("Parameters") < said.index("Ray: several GPUs or machines") < said.index("--gpus-per-worker")


def test_a_study_says_where_it_was_computed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"{IMPORTANCE} --engine ray --workers 1 --json".split()
    assert main([*words, "--out", str(tmp_path / "study")]) == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)) == 144
    places = {str(place) for place in hc.open_study(tmp_path / "study")["pruning/importance"]["ran_on"].values}
    assert len(places) == 1
    assert "process" in places.pop()


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            "--workers 2",
            "got --workers, which has no effect here: without --engine ray everything runs in this process",
        ),
        ("--address auto", "got --address, which has no effect here"),
        ("--gpus-per-worker 1", "got --gpus-per-worker, which has no effect here"),
        ("--engine slurm", "Invalid value"),
        ("--engine ray --workers 0", "got --workers 0; expected at least 1"),
        (
            "--engine ray --gpus-per-worker 1.5",
            "got --gpus-per-worker 1.5; expected a whole number, or a share",
        ),
        ("--engine ray --address 127.0.0.1:1", "nothing answers at 127.0.0.1:1"),
        ("--engine ray --shard 1/2 --out study", "got --shard, which has no effect here: the workers of the engine"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], more: str, expected: str) -> None:
    assert main([*IMPORTANCE.split(), *more.split()]) == 2
    said = capsys.readouterr().err.strip()
    assert expected in said
    assert len(said.splitlines()) == 1
