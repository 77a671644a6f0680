"""`headcount table`: the results of a study as csv, parquet or json; and the table of the strongest effects."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.errors import StudyProblem

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table


def table(
    study: Path,
    /,
    *,
    to: Annotated[
        Literal["csv", "parquet", "json"] | None, Parameter(help="The format; that of the file's ending, or csv.")
    ] = None,
    group: Annotated[str | None, Parameter(help="Only this result, such as sweep/head-zero.")] = None,
    output: Annotated[Path | None, Parameter(name=["-o", "--output"], help="A file; without it, the screen.")] = None,
) -> None:
    """Print or save the numbers of a study, one row for each head, layer or set of each result.

    Example: headcount table study --to csv -o heads.csv

    Parameters
    ----------
    study
        A study folder.
    """
    from headcount.reporting.table import as_text, find_format
    from headcount.reporting.table import table as run

    form = find_format(to, output)
    if form == "parquet" and output is None:
        raise StudyProblem("parquet cannot be shown on the screen; say where it goes with -o FILE")
    rows = run(study, to=to, group=group, output=output)
    if output is None:
        sys.stdout.write(as_text(rows, form))


def json_rows(result: xr.Dataset) -> list[dict[str, Any]]:
    """The numbers of each head, layer or set, for scripts; none where other parts of the work are not done yet."""
    from headcount.core.results import as_table

    return json.loads(as_table(result).to_json(orient="records")) if result.attrs["complete"] else []


def strongest(result: xr.Dataset, most: int = 10) -> Table:
    """The choices with the largest effects, strongest first."""
    from rich.table import Table

    from headcount.core.results import as_table

    rows = as_table(result)
    rows = rows.reindex(rows["delta"].abs().sort_values(ascending=False, kind="stable").index).head(most)
    several = result.sizes.get("stack", 1) > 1
    shown = Table("left out", "score", "change", "95 % interval", "p", "q")
    for column in shown.columns[1:]:
        column.justify = "right"
    for row in rows.to_dict("records"):
        shown.add_row(
            _name(row, several),
            f"{row['score']:.4f}",
            f"{row['delta']:+.4f}",
            f"{row['low']:+.4f} to {row['high']:+.4f}",
            f"{row['p']:.2g}",
            f"{row['q']:.2g}",
        )
    return shown


def _name(row: dict[str, object], several: bool) -> str:
    if "set" in row:
        return str(row["set"])
    place = f"L{row['layer']}" + (f"H{row['head']}" if "head" in row else "")
    return f"{row['stack']}.{place}" if several else place
