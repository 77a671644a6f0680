"""Earlier names of options on the command line and in a file are refused with the new one, which the verb has."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.cli.main import app, main
from headcount.cli.renamed import RENAMED, VERBS
from headcount.cli.wording import option_names

ROWS = [(verb, old, new) for verb, names in RENAMED.items() for old, new in names.items()]


@pytest.mark.parametrize(("verb", "old", "new"), ROWS)
def test_the_message_has_the_new_name(
    verb: str, old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"--{new}" in option_names(app[verb]).values()
    (tmp_path / "options.toml").write_text(f"{old.replace('-', '_')} = 1\n")
    for words in ([f"--{old}", "1"], [f"--{old}=1"], ["--config", str(tmp_path / "options.toml")]):
        assert main([verb, "model", *words]) == 2
        assert capsys.readouterr().err == f"headcount: got --{old}, which is now --{new}\n"


@pytest.mark.parametrize(("old", "new"), VERBS.items())
def test_a_verb_by_its_earlier_name(old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert new in list(app)
    assert main([old, "model", "--task", "sst2"]) == 2
    assert capsys.readouterr().err == f"headcount: got {old}, which is now {new}: headcount {new} ...\n"
