"""What a stopped command says: what was kept, and a command that a shell understands."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.cli.main import app
from headcount.cli.stopping import AT_THE_END, RESUMED, option_value, stopped_line


def test_every_verb_has_its_line() -> None:
    verbs = {name for name in app if not name.startswith("-")}
    former = {"patterns"}  # still understood: commands in studies name it
    assert verbs | former == {*RESUMED, *AT_THE_END}
    for verb, option in RESUMED.items():
        if verb in former:
            continue
        names = {name for argument in app[verb].assemble_argument_collection() for name in argument.names}
        assert option in names, f"{verb} has no {option}"


def test_the_folder_and_the_command_are_as_typed(tmp_path: Path) -> None:
    place = tmp_path / "my runs"
    words = ["sweep", "bundled:qnli", "--task", "qnli", f"--out={place}"]
    assert "before anything was saved" in stopped_line(words)
    place.mkdir()
    line = stopped_line(words)
    assert f"is in {place}, and the same command resumes: headcount sweep" in line
    assert line.endswith(f"'--out={place}'")


def test_what_keeps_nothing_says_so(tmp_path: Path) -> None:
    assert stopped_line(["measure", "m", "--data", "d"]).endswith("headcount measure m --data d --out study")
    assert "gates writes nothing before it is done" in stopped_line(["gates", "m", "--out", "study"])
    assert "nothing is kept without --out" in stopped_line(["gates", "m", "--roles"])
    assert "prune writes nothing before it is done" in stopped_line(["prune", "m", "--heads", "L0H1", "--out", "small"])
    assert "nothing is kept without --study" in stopped_line(["prune", "m", "--drop", "40%", "--out", "small"])
    assert stopped_line([]) == stopped_line(["--help"]) == "stopped"


@pytest.mark.parametrize("content", ['out = "study"\n', "not toml"])
def test_an_option_from_a_file(content: str, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(content, encoding="utf-8")
    found = option_value(["sweep", "m", "--config", str(file)], "--out")
    assert found == ("study" if content.startswith("out") else None)
