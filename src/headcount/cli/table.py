"""`headcount table`: the results of a study as csv, parquet or json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.errors import StudyProblem

if TYPE_CHECKING:
    import xarray as xr


def table(
    study: Path,
    /,
    *,
    to: Annotated[
        Literal["csv", "parquet", "json"] | None,
        Parameter(help="Format; by default that of the file's suffix, or csv."),
    ] = None,
    group: Annotated[str | None, Parameter(help="Only this result, such as sweep/head-zero.")] = None,
    output: Annotated[
        Path | None, Parameter(name=["-o", "--output"], help="File to write; standard output by default.")
    ] = None,
) -> None:
    """Print or save the results of a study: one row for each head, layer or set of heads.

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
        raise StudyProblem("parquet cannot be printed on the screen; name a file with -o FILE")
    rows = run(study, to=to, group=group, output=output)
    if output is None:
        sys.stdout.write(as_text(rows, form))


def json_rows(result: xr.Dataset) -> list[dict[str, Any]]:
    """A row for each head, layer or set, as `--json` prints them; none while other parts of the work are not done."""
    from headcount.core.results import HEAD_DIMS, UNIT_DIMS, as_table

    if not result.attrs["complete"]:
        return []
    both = [dims for dims in (HEAD_DIMS, UNIT_DIMS) if any(array.dims == dims for array in result.values())]
    tables = [as_table(result, dims) for dims in both] if UNIT_DIMS in both else [as_table(result)]
    return [row for table in tables for row in json.loads(table.to_json(orient="records"))]
