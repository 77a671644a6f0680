"""Errors on the command line speak of options, and every number that a verb takes is checked before anything loads."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import headcount
from headcount.cli.main import app, main
from headcount.cli.wording import in_options, option_names
from tests import planted

VERBS = [name for name in app if not name.startswith("-")]
API_ONLY = {
    "objective",
    "tokenizer",
    "generate",
    "weight_learning_rate",
    "queries",
    "maps",
    "units",
    "at_least_units",
    "strength",
}
"""Names in messages that no verb can bring about."""
TASK_OPTIONS = {"pooling"}
"""What may follow the name of a task: `similarity,pooling=first`."""


def raised_names() -> set[str]:
    """Every `name=` in the text of an error that Headcount raises."""
    found: set[str] = set()
    for path in Path(headcount.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                texts = [one.value for one in ast.walk(node.exc) if isinstance(one, ast.Constant)]
                found |= {name for text in texts if isinstance(text, str) for name in re.findall(r"\b([a-z_]+)=", text)}
    return found


def test_every_name_in_an_error_is_an_option_of_some_verb() -> None:
    known = {name for verb in VERBS for name in option_names(app[verb])}
    assert raised_names() - known <= API_ONLY | TASK_OPTIONS


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("got by='head'; expected", "got --by head; expected"),
        ("size= belongs to draws=, the number", "--size belongs to --draws, the number"),
        ("say --untrained (untrained=True)", "say --untrained"),
        ("fine-tune it (untrained=True)", "fine-tune it (--untrained)"),
        ("got max_length=7; expected at least 8", "got --max-length 7; expected at least 8"),
        ("got name='my run'; no", "got --name 'my run'; no"),
        ("the model's 0=LABEL_0, out=, of 'out=x'", "the model's 0=LABEL_0, --out, of 'out=x'"),
        ("model=, objective= stay", "model=, objective= stay"),
    ],
)
def test_messages(message: str, expected: str) -> None:
    assert in_options(message, option_names(app["sweep"])) == expected


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    planted.save(path / "model")
    planted.texts(16).to_csv(path / "validation.csv", index=False)
    return path


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--how", "mean"], "--how mean needs --reference"),
        (["--how", "zero", "--reference", "x"], "got --reference, which has no effect here"),
        (["--shard", "1/2"], "got --shard, which has no effect without --out"),
        (["--size", "3"], "got --size, which has no effect without --draws"),
        (["--memory", "-4GB"], "got the memory '-4GB'; expected a size such as 4GB"),
        (["--metric"], "see headcount sweep --help"),
    ],
)
def test_on_the_command_line(more: list[str], expected: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(place / "model"), "--task", "sst2", "--data", str(place), *more]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1
    assert not re.search(r"\b[a-z_]+=", said.replace(str(place), ""))


def numeric() -> list[tuple[str, str, str]]:
    """Every option of every verb that takes a number, with values that no such option can have."""
    found = []
    for verb in VERBS:
        for argument in app[verb].assemble_argument_collection():
            kinds = {int, float} & {argument.hint, *getattr(argument.hint, "__args__", ())}
            bad = ["-1", *(["nan", "inf", "-inf"] if float in kinds else ["99999999999"])]
            found += [(verb, argument.name, value) for value in bad if kinds]
    return found


def needed(verb: str) -> list[str]:
    """Some word for each argument that a verb cannot do without: numbers are checked before these are looked at."""
    words = []
    for argument in app[verb].assemble_argument_collection():
        if argument.field_info.default is inspect.Parameter.empty and argument.field_info.required:
            words += [argument.name, "x"] if argument.name.startswith("-") else ["x"]
    return words


@pytest.mark.parametrize(("verb", "option", "value"), numeric())
def test_every_number_of_every_verb(verb: str, option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, *needed(verb), option, value]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"headcount: got {option} "), said
    assert "expected" in said
    assert said.count("\n") == 1
