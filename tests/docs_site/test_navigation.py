"""Is every page of docs/ in the menu, and nothing in the menu that is not there?"""

from __future__ import annotations

import doctest
import tomllib
from typing import Any

from docs_site.navigation import as_toml, menu
from docs_site.pages import BESIDE, DOCS
from docs_site.reference import command_line_pages, python_pages

from docs_site import navigation


def files(entries: Any) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    if isinstance(entries, dict):
        entries = list(entries.values())
    return [file for entry in entries for file in files(entry)]


def test_every_page_is_in_the_menu_once() -> None:
    pages = {file.relative_to(DOCS).as_posix(): file.read_text("utf-8") for file in DOCS.rglob("*.md")}
    pages |= {file.relative_to(DOCS).with_suffix(".md").as_posix(): "# A\n" for file in DOCS.rglob("*.ipynb")}
    pages |= dict.fromkeys(BESIDE.values(), "# B\n")
    listed = files(menu(pages))
    reference = [f"reference/python/{name}" for name in python_pages()]
    reference += [f"reference/command-line/{name}" for name in command_line_pages()]
    assert sorted(listed) == sorted([*pages, *reference])


def test_folders_are_read() -> None:
    """Tutorials in the order of their numbers, how-to pages in that of their titles; without any, no section."""
    pages = {"tutorials/02-b.md": "# Begin\n", "tutorials/01-a.md": "# Start\n"}
    pages |= {
        "how-to/one.md": "# Prune a `model`\n",
        "how-to/two.md": "# Make a figure\n",
        "how-to/index.md": "# How-to\n",
    }
    sections = {name: entries for section in menu(pages) for name, entries in section.items()}
    assert sections["Tutorials"] == [{"Start": "tutorials/01-a.md"}, {"Begin": "tutorials/02-b.md"}]
    assert sections["How-to"] == [
        "how-to/index.md",
        {"Make a figure": "how-to/two.md"},
        {"Prune a model": "how-to/one.md"},
    ]
    assert {"News": "news.md"} in menu({"news.md": "# News\n"}), "a page that the order does not name"
    assert "Tutorials" not in {name for section in menu({}) for name in section}


def test_the_menu_is_toml() -> None:
    entries = menu({"how-to/a.md": '# Say "no"\n'})
    assert tomllib.loads(f"nav = {as_toml(entries)}")["nav"] == entries
    assert doctest.testmod(navigation).failed == 0
