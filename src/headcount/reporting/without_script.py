"""What a page says where its script may not run: the findings in words, and the heads with their roles and effects."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from headcount.reporting.colourings import effect_of

MOST = 2000
"""Rows of the table."""


def plain_page(studies: Sequence[dict[str, Any]]) -> str:
    """HTML without a figure: for each study its title, findings and a table of its heads."""
    asked = "<p>The figures of this page are drawn by its script: allow it to run to see them.</p>"
    return asked + "".join(map(_study, studies))


def _study(study: dict[str, Any]) -> str:
    title = " on ".join(filter(None, (study["model"] or study["name"], study["task"])))
    parts = [f"<h1>{html.escape(title)}</h1>"]
    for finding in study["findings"]:
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in finding["sentences"])
        heading = f"<h2>{html.escape(finding['title'])}</h2>" if finding["title"] else ""
        parts.append(heading + (f"<ul>{items}</ul>" if items else ""))
    return "".join(parts) + _table(study)


def _table(study: dict[str, Any]) -> str:
    roles = next((each for each in study["colourings"] if each["id"] == "roles"), None)
    columns = [each for each in (effect_of(study["colourings"]), roles) if each]
    if not columns:
        return ""
    titles = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in ("head", *(c["title"] for c in columns)))
    rows = "".join(
        f'<tr><th scope="row">{html.escape(head[3])}</th>'
        + "".join(f"<td>{html.escape(_shown(column, index))}</td>" for column in columns)
        + "</tr>"
        for index, head in enumerate(study["heads"][:MOST])
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"


def _shown(colouring: dict[str, Any], index: int) -> str:
    value = colouring["values"][index]
    if value is None:
        return ""
    if colouring["kind"] == "category":
        return str(colouring["names"][value])
    low, high = (colouring.get(end, [None] * (index + 1))[index] for end in ("low", "high"))
    spread = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
    return f"{value:+.3f}{spread}"
