"""The help of verbs with many options is read group by group, and no name of an option is broken."""

from __future__ import annotations

import pytest

from headcount.cli.groups import BUDGET, ENGINE, FIRST, NAME_WIDTH, ORDER, RECOVERY, SIZE
from headcount.cli.main import app, main


@pytest.mark.parametrize("verb", ["prune", "choose"])
def test_groups_come_in_order(verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([verb, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [line.strip("╭╮─ ") for line in lines if line.startswith("╭")]
    groups = [group.name for group in (FIRST, SIZE, ORDER, BUDGET, RECOVERY)][: 5 if verb == "prune" else 4]
    assert titles == ["Arguments", *groups, "Parameters", ENGINE.name]
    shown = {word for line in lines for word in line.split() if word.startswith("--")}
    for argument in app[verb].assemble_argument_collection():
        assert not argument.name.startswith("--") or argument.name in shown, argument.name
    assert all(len(line) <= 80 for line in lines)


def test_the_longest_name_has_room() -> None:
    verbs = [app[verb] for verb in app if not verb.startswith("-")]
    names = [argument.name for verb in verbs for argument in verb.assemble_argument_collection()]
    assert max(map(len, names)) < NAME_WIDTH
