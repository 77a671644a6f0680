"""`headcount agreement`: do the heads that matter in one result matter in another?"""

from __future__ import annotations

from pathlib import Path

from headcount.errors import StudyProblem


def agreement(*studies: Path) -> None:
    """Show whether the same heads matter in all sweeps of one or several studies (Michel's Figure 2).

    Example: headcount agreement study-mrpc study-rte

    Parameters
    ----------
    studies
        Study folders.
    """
    from rich.console import Console
    from rich.table import Table

    from headcount.core.agreement import agreement as run

    rows = run(*studies)
    if not rows:
        raise StudyProblem(
            "no two complete sweeps of the same heads; run headcount sweep twice, with --name or another --out"
        )
    table = Table("result", "other result", "heads", "rank correlation", "95 % interval")
    for row in rows:
        table.add_row(
            row.first, row.second, str(row.count), f"{row.correlation:+.2f}", f"{row.low:+.2f} to {row.high:+.2f}"
        )
    console = Console(highlight=False)
    console.print(table)
    console.print("Spearman's correlation of the loss in score without each head; the interval resamples heads.")
