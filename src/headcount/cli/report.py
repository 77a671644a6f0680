"""`headcount report`: studies into one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def report(
    *studies: Path,
    output: Annotated[Path, Parameter(name=["-o", "--output"], help="The page.")] = Path("report.html"),
) -> None:
    """Turn a study, or several, into one page that opens offline by double click and can be mailed.

    Example: headcount report demo-out -o report.html

    A result that is missing is left out, and the page says what command would fill it.

    Parameters
    ----------
    studies
        Study folders.
    """
    from headcount.reporting.document import report as run

    page = run(list(studies), output)
    print(f"{page} ({page.stat().st_size / 1e6:.1f} MB): open it in any browser; it needs no network.")
