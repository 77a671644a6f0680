"""The tutorials run from their first cell to their last, offline, and are stored as they run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from recipes.tutorials.execute import FOLDER, code_cells, digest, execute, read, tidied, tutorials

from headcount.cli.main import app

STORED = tutorials()
NAMES = [
    "01-first-look",
    "02-which-heads-matter",
    "03-a-smaller-model",
    "04-heads-of-a-language-model",
    "05-your-own-question",
]
MOST_BYTES = 300_000
PATH_OF_A_MACHINE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|usr|opt|var|mnt|private|Users)/|[A-Z]:\\\\")


def outputs_of(notebook: Any) -> list[Any]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def kinds_of(notebook: Any) -> list[list[list[str]]]:
    """For each cell, what it gives: printed text, pictures, tables, values."""
    return [
        [sorted(output.get("data") or {output.get("name", "error"): ""}) for output in cell.outputs]
        for cell in code_cells(notebook)
    ]


def said_of(output: Any) -> str:
    """All text of an output; a picture's bytes are no text."""
    data = output.get("data", {})
    parts = [data[kind] for kind in data if not kind.startswith("image/")]
    return re.sub(r"base64,[A-Za-z0-9+/=]+", "", " ".join([*map(str, parts), output.get("text", "")]))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_it_runs(path: Path) -> None:
    executed = execute(path)
    assert kinds_of(executed) == kinds_of(read(path)), "its cells give other things than those that are stored"
    assert [said_of(output) for output in outputs_of(executed) if output.get("name") == "stderr"] == []


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_what_is_stored(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.metadata["executed"] == digest(notebook), "run python -m recipes.tutorials.execute"
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    outputs = outputs_of(notebook)
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in outputs), "no picture"
    assert [found for output in outputs if (found := PATH_OF_A_MACHINE.findall(said_of(output)))] == []
    assert path.stat().st_size < MOST_BYTES


def test_all_are_there() -> None:
    assert [path.stem for path in STORED] == NAMES
    for index in (FOLDER / "index.md", FOLDER.parents[1] / "README.md"):
        text = index.read_text(encoding="utf-8")
        links = re.findall(r"\]\((?:docs/tutorials/)?(\d\d-[^)/]+)\.ipynb\)", text)
        assert links == NAMES, f"{index.name} should link to all of them in order"


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_it_ends_with_what_comes_next(path: Path) -> None:
    last = read(path).cells[-1].source
    assert "\n## Next\n" in last
    assert re.search(r"\]\([^)]+\)", last.partition("## Next")[2])


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert target.startswith("https://") or (FOLDER / target).is_file(), target


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_every_command_can_be_understood(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    commands = re.findall(r"^    (headcount .*)$", text, flags=re.MULTILINE)
    assert commands
    for command in commands:
        app.parse_args(shlex.split(command)[1:], exit_on_error=False, print_error=False)


def test_a_cell_that_fails_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.ipynb"
    cells = [nbformat.v4.new_code_cell("1 + 1"), nbformat.v4.new_code_cell("assert 1 == 2, 'so it says'")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="so it says"):
        execute(path)


def test_what_differs_between_machines_is_not_stored() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", id="abc", metadata={"execution": {}})])
    notebook.metadata = {"kernelspec": {"name": "my-own", "display_name": "Mine"}, "widgets": {}}
    stored = json.loads(nbformat.writes(tidied(notebook)))
    assert set(stored["metadata"]) == {"kernelspec", "language_info", "executed"}
    assert stored["metadata"]["kernelspec"]["name"] == "python3"
    assert stored["cells"][0]["metadata"] == {}


def test_code_that_was_changed_after_it_ran_is_noticed() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1"), nbformat.v4.new_markdown_cell("text")])
    before = digest(notebook)
    notebook.cells[1].source = "other text"
    assert digest(notebook) == before
    notebook.cells[0].source = "2"
    assert digest(notebook) != before
