"""The verb `doctor`: what to paste into a report, and exit code 1 where a check failed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import headcount
from headcount.cli.main import main
from tests.contracts.zoo import tiny
from tests.self_check import broken


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    tiny("bert").save_pretrained(path)
    return path


def test_without_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert f"headcount {headcount.__version__}, python " in shown
    assert f"torch {torch.__version__}" in shown
    assert "attention kernels: eager, sdpa" in shown
    assert "To check a model: headcount doctor MODEL" in shown


def test_a_sound_model(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["doctor", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert shown.count(" passed  ") == 7
    assert "Heads can be removed: yes." in shown


def test_a_failure_is_exit_code_1(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is really broken, loaded in place of the sound one."""
    monkeypatch.setattr("headcount.cli.doctor.load_ready", lambda *_: broken.shifted())
    assert main(["doctor", str(folder)]) == 1
    captured = capsys.readouterr()
    assert " failed  zero ablation equals zeroed columns" in captured.out
    assert captured.err.startswith("headcount: failed: zero ablation equals zeroed columns; failed: ")
    assert captured.err.count("\n") == 1


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["healthy"] is True
    assert {check["outcome"] for check in found["checks"]} == {"passed"}
    assert found["support"]["model_class"] == "BertModel"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["doctor", "no-such-model"], "hub did not give it"),
        (["doctor", "--device", "cpu"], "no model was named"),
        (["doctor", "--dtype", "float32"], "no model was named"),
        (["doctor", "--trust-remote-code"], "no model was named"),
    ],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert said in captured.err
