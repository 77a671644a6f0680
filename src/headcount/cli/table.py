"""`headcount table`: the results of a study as csv, parquet or json; and the table of the strongest effects."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from headcount.errors import InvalidOption, StudyProblem, cannot_write

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from rich.table import Table


def table(
    study: Path,
    /,
    *,
    to: Annotated[
        Literal["csv", "parquet", "json"] | None, Parameter(help="The format; that of the file's ending, or csv.")
    ] = None,
    group: Annotated[str | None, Parameter(help="Only this result, such as sweep/head-uniform.")] = None,
    output: Annotated[Path | None, Parameter(name=["-o", "--output"], help="A file; without it, the screen.")] = None,
) -> None:
    """Print or save the numbers of a study, one row for each head, layer or set of each result.

    Example: headcount table study --to csv -o heads.csv

    Parameters
    ----------
    study
        A study folder.
    """
    ending = "" if output is None else output.suffix.lower().removeprefix(".")
    if to is not None and ending in FORMATS and ending != to:
        raise InvalidOption(f"got --to {to} and -o {output}; expected a file that ends in .{to}, or no --to")
    form = to or (ending if ending in FORMATS else "csv")
    rows = study_table(study, group)
    if form == "parquet":
        if output is None:
            raise StudyProblem("parquet cannot be shown on the screen; say where it goes with -o FILE")
        with _writing(output):
            rows.to_parquet(output, index=False)
        return
    text = rows.to_csv(index=False) if form == "csv" else rows.to_json(orient="records", indent=1)
    if output is None:
        sys.stdout.write(text)
    else:
        with _writing(output):
            output.write_text(text, encoding="utf-8")


FORMATS = ("csv", "parquet", "json")


@contextmanager
def _writing(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StudyProblem(cannot_write(output, error)) from error


def study_table(study: Path, group: str | None = None) -> pd.DataFrame:
    """All results of a study that have a number for each head, layer, set or step of a curve, one under the other."""
    import pandas as pd

    from headcount.core.results import as_table
    from headcount.core.store import check_whole, open_study

    def asked(name: str) -> bool:
        return group in (None, name, name.split("/")[0])

    check_whole(study, asked)
    tree = open_study(study, damaged="skip")  # one that was not asked for may be damaged
    # Sorted: zarr lists a folder in another order every time.
    names = sorted(node.path.strip("/") for node in tree.subtree if node.attrs.get("complete"))
    names = [name for name in names if not name.startswith("maps/") and asked(name)]
    if not names:
        raise StudyProblem(
            f"{study} has no complete result{'' if group is None else f' {group}'}; "
            "run headcount sweep or headcount measure first"
        )
    parts = [as_table(tree[name].to_dataset()).copy().assign(result=name) for name in names if name.startswith(ROWS)]
    for kind in MERGED:
        found = {name: as_table(tree[name].to_dataset()) for name in names if name.startswith(f"{kind}/")}
        if found:
            parts.append(_side_by_side(found).copy().assign(result=kind))
    whole: pd.DataFrame = pd.concat(parts, ignore_index=True)
    whole = whole.copy()
    return whole[["result", *[column for column in whole if column != "result"]]]


ROWS = ("sweep/", "pruning/")
"""Results whose numbers stand one under the other."""
MERGED = ("measures", "compare")
"""Results whose numbers stand side by side, one row for each head, with the measure's name before each column."""


def _side_by_side(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    keys = ["stack", "layer", "head"]
    parts = [part.set_index(keys).add_prefix(f"{name.split('/', 1)[1]}.") for name, part in tables.items()]
    return pd.concat(parts, axis=1).copy().reset_index()  # many columns: copied, they lie together


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
