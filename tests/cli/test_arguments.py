"""The arguments of every verb are those of the parser, also after commands have run, and are read once."""

from __future__ import annotations

import pytest

from headcount.cli.arguments import arguments_of
from headcount.cli.main import app, main
from headcount.cli.wording import option_names

VERBS = sorted(name for name in app if not name.startswith("-"))


@pytest.mark.parametrize("verb", VERBS)
def test_they_are_those_of_the_parser(verb: str) -> None:
    assert [one.names for one in arguments_of(app[verb])] == [
        one.names for one in app[verb].assemble_argument_collection()
    ]


def test_a_command_leaves_nothing_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    before = option_names(app["sweep"])
    for limit in ("3", "0.5"):
        assert main(["sweep", "nowhere", "--data", "nowhere.csv", "--task", "sst2", "--limit", limit]) == 2
    assert not any(one.tokens for one in arguments_of(app["sweep"]))
    assert option_names(app["sweep"]) == before
    assert arguments_of(app["sweep"]) is arguments_of(app["sweep"])
