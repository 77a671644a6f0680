"""`headcount report`: one page for one or several studies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def report(
    *studies: Path,
    output: Annotated[Path, Parameter(name=["-o", "--output"], help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Turn one or several studies into a single HTML page that works offline and can be mailed.

    Example: headcount report demo-out -o report.html

    Where a study lacks a result, the page shows the command that computes it.

    Parameters
    ----------
    studies
        Study folders.
    """
    from headcount.reporting.document import report as run

    page = run(list(studies), output)
    print(f"{page} ({page.stat().st_size / 1e6:.1f} MB): open it in any browser; it needs no network.")
