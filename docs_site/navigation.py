"""The menu of the site: sections in a fixed order, and in each whatever pages are there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from docs_site.markdown import title
from docs_site.reference import names, verbs

Menu = list[dict[str, Any]]
TOP = {
    "Concepts": "concepts.md",
    "Live": "live.md",
    "Families": "families.md",
    "Findings": "findings.md",
    "Benchmarks": "benchmarks.md",
    "Cluster": "cluster.md",
}
LAST = {"Architecture": "architecture.md", "Contributing": "contributing.md", "Changelog": "changelog.md"}


def menu(pages: Mapping[str, str]) -> Menu:
    """`pages`: file name -> Markdown. Tutorials are ordered by their file names, how-to pages by their titles."""
    sections: Menu = [{"Start": "index.md"}]
    for name, folder in (("Tutorials", "tutorials"), ("How-to", "how-to")):
        if entries := folder_entries(pages, folder):
            sections.append({name: entries})
    sections += [{name: file} for name, file in TOP.items()]
    known = {"index.md", *TOP.values(), *LAST.values()}
    sections += [{plain(title(pages[name])): name} for name in sorted(pages) if "/" not in name and name not in known]
    sections.append({"Reference": [{"Python": python_entries()}, {"Command line": verb_entries()}]})
    return sections + [{name: file} for name, file in LAST.items()]


def folder_entries(pages: Mapping[str, str], folder: str) -> list[Any]:
    inside = [name for name in sorted(pages) if name.startswith(f"{folder}/") and name != f"{folder}/index.md"]
    if folder == "how-to":
        inside.sort(key=lambda name: title(pages[name]).lower())
    entries: list[Any] = [{plain(title(pages[name])): name} for name in inside]
    return [f"{folder}/index.md", *entries] if f"{folder}/index.md" in pages else entries


def plain(heading: str) -> str:
    return heading.replace("`", "").replace("*", "")


def python_entries() -> list[Any]:
    entries: list[Any] = ["reference/python/index.md"]
    for section, members in names().items():
        entries.append({section: [{name: f"reference/python/{name}.md"} for name in members]})
    return entries


def verb_entries() -> list[Any]:
    return ["reference/command-line/index.md", *({verb: f"reference/command-line/{verb}.md"} for verb in verbs())]


def as_toml(entries: Any) -> str:
    """
    >>> as_toml([{"Start": "index.md"}, "a.md"])
    '[{"Start" = "index.md"}, "a.md"]'
    """
    if isinstance(entries, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(value)}" for key, value in entries.items()) + "}"
    if isinstance(entries, list):
        return "[" + ", ".join(as_toml(entry) for entry in entries) + "]"
    return json.dumps(entries)
