"""Is bad input one line that helps, with exit code 2, and changes nothing? Is odd but good input taken?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headcount.cli.main import app, main
from tests.hard import accepted, budgets, choosing, config, data, models, options, outputs, rankings, studies
from tests.hard.row import Row
from tests.hard.shelf import Shelf

TABLES = {
    table.__name__.rpartition(".")[2]: table.ROWS
    for table in (models, data, options, studies, outputs, config, choosing, budgets, rankings)
}
LEAST = 400
LONGEST = 700
"""Characters of a line: two long paths and a list of names have room, a table's content has not."""


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("shelf"))


def named(table: str, rows: list[Row]) -> list[object]:
    return [pytest.param(row, id=f"{table}: {row.id}") for row in rows]


@pytest.mark.parametrize("row", [one for table, rows in TABLES.items() for one in named(table, rows)])
def test_refused(
    row: Row, shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = row.arguments(shelf)
    monkeypatch.chdir(tmp_path)
    before = shelf.state(row.names())
    capfd.readouterr()
    code = main(arguments)
    line = capfd.readouterr().err
    assert code == 2, f"exit code {code}: {line}"
    assert line.startswith("headcount: ")
    assert line.count("\n") == 1, line
    assert len(line) <= LONGEST, line
    assert not row.missing(line, shelf), line
    assert shelf.state(row.names()) == before, "something that was read has changed"
    assert [one.name for one in tmp_path.rglob("*") if one.is_file() or one.name.startswith(".")] == []


@pytest.mark.parametrize("row", accepted.ROWS, ids=lambda row: row.id)
def test_accepted(
    row: Row, shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = row.arguments(shelf)
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    assert main(arguments) == 0
    said = capfd.readouterr()
    assert said.err == ""
    assert not row.missing(" ".join(said.out.split()), shelf), said.out


def test_every_verb_is_tried() -> None:
    verbs = {row.command.split()[0] for rows in TABLES.values() for row in rows}
    assert verbs >= {str(name) for name in app if not str(name).startswith("-")}


def test_every_row_is_another_one() -> None:
    rows = [row for table in TABLES.values() for row in table]
    assert len(rows) >= LEAST
    assert [
        id
        for id, count in Counter((name, row.id) for name, rows in TABLES.items() for row in rows).items()
        if count > 1
    ] == []
    assert [command for command, count in Counter(row.command for row in rows).items() if count > 1] == []
