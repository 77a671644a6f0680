"""A verb whose work is shared: each part says what it did, the last one shows the result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.choosing import importance
from headcount.cli.main import main
from headcount.measures import passes
from tests import planted

COMMANDS = {
    "sweep": "sweep MODEL --task sst2 --batch-tokens 64",
    "measure": "measure MODEL --only entropy,position",
    "compare": "compare MODEL MODEL",
    "find-patterns": "find-patterns MODEL",
    "importance": "importance MODEL --task sst2",
}


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (passes, importance):
        monkeypatch.setattr(module, "UNIT", 16)


def words(folder: Path, verb: str, study: str, *more: str) -> list[str]:
    """The command, with a model and texts that are in the folder from then on."""
    if not (folder / "model").exists():
        planted.save(folder / "model")
        planted.texts(40).to_csv(folder / "texts.csv", index=False)
    command = [word.replace("MODEL", str(folder / "model")) for word in COMMANDS[verb].split()]
    return [*command, "--data", str(folder / "texts.csv"), "--out", str(folder / study), *more]


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_last_part_shows_what_one_process_would_have_shown(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(tmp_path, verb, "shared", "--shard", "1/2")) == 0
    assert capsys.readouterr().out == "This part is done; the part that finishes last completes the result.\n"
    assert main(words(tmp_path, verb, "shared", "--shard", "2/2")) == 0
    shared = capsys.readouterr().out
    assert main(words(tmp_path, verb, "alone")) == 0
    assert shared == capsys.readouterr().out.replace("alone", "shared")


@pytest.mark.parametrize("verb", [verb for verb in COMMANDS if verb != "compare"])
def test_a_part_has_no_rows(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(tmp_path, verb, "study", "--shard", "1/2", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found if verb == "importance" else found["choices"] if verb == "sweep" else found["measures"].values()
    assert not any(rows)
