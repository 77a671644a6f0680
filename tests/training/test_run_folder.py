"""A run's folder: its result, and that it is not taken for another run's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.errors import StudyProblem
from headcount.training.run_folder import finished_result, write_json


def test_a_result_is_there_when_it_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "run"
    identity = {"seed": 1, "more": (1, 2)}
    assert finished_result(folder, identity) is None
    write_json(folder / "options.json", identity)
    assert finished_result(folder, identity) is None, "begun, not finished"
    write_json(folder / "result.json", {"scores": 1})
    assert finished_result(folder, identity) == {"scores": 1}
    assert sorted(file.name for file in folder.iterdir()) == ["options.json", "result.json"]


def test_other_options_are_refused_by_name(tmp_path: Path) -> None:
    write_json(tmp_path / "options.json", {"seed": 1, "rate": 0.1})
    with pytest.raises(StudyProblem, match=r"other options \(learning_rate: 0.1 -> 0.2\); give another out="):
        finished_result(tmp_path, {"seed": 1, "learning_rate": 0.2})
    assert json.loads((tmp_path / "options.json").read_text())["rate"] == 0.1
