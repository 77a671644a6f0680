"""Every expected error is one line on stderr and exit code 2."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from headcount import cli
from headcount.cli.main import main
from tests.contracts.zoo import tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    tiny("bert").save_pretrained(path)
    return path


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["heads", "{model}", "--pick", "L12H0"], "L0 to L2"),
        (["heads", "{model}", "--pick", "L3H"], "expected L3H7"),
        (["heads", "{model}", "--pick", ""], "at least one"),
        (["heads", "{model}", "--pick", "cross.L0"], "no stack 'cross'"),
        (["heads", "no-such-model"], "hub did not give it"),
        (["heads"], "MODEL"),
        (["heads", "{model}", "--colour", "red"], "--colour"),
        (["frobnicate"], "frobnicate"),
        (["help", "frobnicate"], "frobnicate"),
        (
            ["heads", "{model}", "more", "and more"],
            "got more than is expected: more 'and more' (see headcount heads --help)",
        ),
    ],
)
def test_bad_input(folder: Path, arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word.format(model=folder) for word in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("headcount: ")
    assert expected in captured.err


def test_help_names_every_verb_and_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Every module of this room that defines a verb of its own name: none is forgotten in the program."""
    modules = {path.stem for path in Path(cli.__file__).parent.glob("*.py")} - {
        "__init__",
        "main",
        "arguments",
        "options",
        "probe_tables",
        "prune_stages",
        "recovery",
        "engine_options",
        "hub_options",
        "budget_table",
        "groups",
        "pairs",
        "time_left",
        "progress",
        "renamed",
        "entry",
        "start",
        "install_completion",
        "stopping",
        "whole_numbers",
        "wording",
        "warning_lines",
    }
    verbs = {name for name in modules if callable(getattr(import_module(f"headcount.cli.{name}"), name, None))}
    assert verbs == modules
    named = {verb.replace("_", "-") for verb in verbs}
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    explained = {words[1]: words[2:] for words in map(str.split, lines) if len(words) > 2 and words[1] in named}
    assert set(explained) == named
    assert all(len(words) > 3 for words in explained.values()), "a verb without a sentence"
    assert any(line.startswith("Example: headcount heads") for line in lines)


@pytest.mark.parametrize("verb", [[], ["sweep"], ["--install-completion"]])
def test_help_is_also_a_word(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb, "--help"]) == 0
    expected = capsys.readouterr()
    assert main(["help", *verb]) == 0
    assert capsys.readouterr() == expected


def test_the_program_starts_without_torch() -> None:
    """Help must be quick: no heavy import before a verb runs."""
    code = "import sys, headcount.cli.main; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_exit_code_of_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headcount.cli.main", "heads", "/no/such"], capture_output=True, check=False
    )
    assert done.returncode == 2
