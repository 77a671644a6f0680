"""`headcount explain`: everything that a study knows about one head, on one screen."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.cli.options import Json
from headcount.core.heads import is_name
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    from headcount.reporting.explain import Explanation

WIDEST = 100
"""Columns that text takes at most: longer lines are hard to read."""


def explain(
    head: str,
    study: Path,
    /,
    *,
    json_: Json = False,
) -> None:
    """Say everything that a study knows about one head, and what was not measured.

    Example: headcount explain L5H1 demo-out

    Parameters
    ----------
    head
        A head, such as L5H1 or cross.L1H2.
    study
        A study folder.
    """
    if is_name(str(study)) and not is_name(head) and not study.exists():
        raise InvalidOption(f"the head comes first, then the study: headcount explain {study} {head}")
    from headcount.reporting.explain import explain as run

    explanation = run(study, head)
    if json_:
        print(json.dumps(explanation.as_dict(), indent=1, allow_nan=False))
    else:
        _show(explanation)


def _show(explanation: Explanation) -> None:
    """Print the sections, wrapped; commands stay on one line, so that they can be copied."""
    from rich.console import Console

    console = Console(highlight=False)
    width = min(console.width, WIDEST)

    def line(text: str, indent: int = 0, style: str | None = None) -> None:
        console.print(" " * indent + text, style=style, markup=False, soft_wrap=True)

    def wrapped(text: str, indent: int) -> None:
        for part in textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False):
            line(part, indent)

    line(explanation.heading, style="bold")
    for section in explanation.sections:
        line(f"\n{section.title}", style="bold")
        for fact in section.facts:
            wrapped(fact.sentence, 4 if fact.listed else 2)
    if not explanation.sections:
        line("\nThe study has no sentence about this head.")
    if explanation.unfinished:
        line("\nNot finished yet", style="bold")
        wrapped(f"{', '.join(explanation.unfinished)}: the command that started it resumes.", 2)
    if explanation.missing:
        line("\nNot measured", style="bold")
        for row in explanation.missing:
            line(f"{row['what']}:", 2)
            line(row["command"], 4)
