"""Does the reference have every public name and every verb, with all its options?"""

from __future__ import annotations

import doctest
import re
from importlib import import_module

import pytest
from docs_site.reference import command_line_pages, python_pages, section_of, verbs

import headcount as hc
from docs_site import reference
from headcount.cli.main import app

PYTHON = python_pages()
COMMAND_LINE = command_line_pages()


@pytest.mark.parametrize("name", hc.__all__)
def test_every_public_name_has_a_page(name: str) -> None:
    (target,) = [line.removeprefix("::: ") for line in PYTHON[f"{name}.md"].splitlines() if line.startswith(":::")]
    module, _, attribute = target.rpartition(".")
    assert getattr(import_module(module), attribute) is getattr(hc, name)
    (row,) = [line for line in PYTHON["index.md"].splitlines() if line.startswith(f"| [`{name}`]({name}.md) |")]
    assert len(row.split("|")[2].split()) >= 3, "a docstring that says what it is"


def test_no_two_pages_differ_in_case_alone() -> None:
    """Some file systems would keep only one of them."""
    assert len({name.lower() for name in PYTHON}) == len(PYTHON)


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_has_a_page_with_all_its_options(verb: str) -> None:
    page = COMMAND_LINE[f"{verb}.md"]
    assert page.startswith(f"# headcount {verb}\n")
    assert f"| [`{verb}`]({verb}.md) |" in COMMAND_LINE["index.md"]
    assert re.search(rf"^```console\nheadcount {verb} (?!-m)", page, flags=re.MULTILINE), "its usage"
    for argument in app[verb].assemble_argument_collection(default_parameter=app.default_parameter):
        for name in argument.names:
            assert re.search(rf"^- `([^`]+, )?{re.escape(name)}\b", page, flags=re.MULTILINE), name
    assert "```sh\nheadcount " in page, "an example"
    assert "* `" not in page
    assert "]*" not in page, "what cyclopts writes is all converted"


def test_the_verbs_are_all_there() -> None:
    assert set(verbs()) >= {"demo", "sweep", "prune", "live", "agreement"}
    assert set(COMMAND_LINE) == {"index.md", *(f"{verb}.md" for verb in verbs())}


def test_a_module_without_a_section_is_an_error() -> None:
    assert section_of("ablation.ablated") == "Forward passes"
    assert section_of("ablation.sweep") == "What happens without a head"
    with pytest.raises(ValueError, match="no section of the reference holds other_room.module"):
        section_of("other_room.module")


def test_examples_in_docstrings() -> None:
    found = doctest.testmod(reference)
    assert found.attempted
    assert not found.failed
