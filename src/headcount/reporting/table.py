"""The results of a study as one table: a row for each head, layer, set of heads, step of a curve or relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from headcount.core.read_study import StudyLike, check_whole, open_study, study_path
from headcount.core.results import HEAD_DIMS, as_table
from headcount.errors import CannotWrite, InvalidOption, StudyProblem, cannot_write
from headcount.reporting.caption import model_of

FORMATS = ("csv", "parquet", "json")
ROWS = (
    *("sweep/", "pruning/", "probe/", "cues/", "cue_heads/", "carriers/"),
    *("patching/", "function_vectors/", "circuit/", "paths/"),
)
"""Results that are stacked below each other."""
OF_HEAD = "_of_head"
"""`relation_of_head` has the number of a label along `relation` for each head."""
ABOUT = ("model", "task", "metric")
"""What the numbers of a row are about: the first columns after the name of the result."""
MERGED = ("measures", "compare")
"""Results that are merged into one row per head, with the name of the measure before each column."""


def table(
    study: StudyLike, *, to: str | None = None, group: str | None = None, output: str | Path | None = None
) -> pd.DataFrame:
    """All results of a study as one table, with a row for each head, layer, set of heads, step of a curve,
    relation or cue.

    `group`: only this result, such as "sweep/head-zero", or these, such as "measures". `output`: a file to write, in
    the format `to` ("csv", "parquet" or "json") or that of its suffix.
    """
    file = None if output is None else Path(output)
    form = find_format(to, file)
    rows = _rows(study_path(study), group)
    if file is not None:
        write_rows(rows, file, form)
    return rows


def write_rows(rows: pd.DataFrame, file: Path, form: str) -> None:
    """Write a table into a file."""
    try:
        if form == "parquet":
            rows.to_parquet(file, index=False)
        else:
            file.write_text(as_text(rows, form), encoding="utf-8")
    except OSError as error:
        raise CannotWrite(cannot_write(file, error)) from error


def find_format(to: str | None, output: Path | None) -> str:
    """The given format, or that of the file's suffix, or csv."""
    suffix = "" if output is None else output.suffix.lower().removeprefix(".")
    if to is not None and to not in FORMATS:
        raise InvalidOption(f"got to={to!r}; expected one of {', '.join(FORMATS)}")
    if to is not None and suffix in FORMATS and suffix != to:
        raise InvalidOption(f"got to={to} and output={output}; expected a file that ends in .{to}, or no to=")
    return to or (suffix if suffix in FORMATS else "csv")


def as_text(rows: pd.DataFrame, form: str) -> str:
    return str(rows.to_csv(index=False) if form == "csv" else rows.to_json(orient="records", indent=1))


def _rows(study: Path, group: str | None) -> pd.DataFrame:
    def is_included(name: str) -> bool:
        return group in (None, name, name.split("/")[0])

    check_whole(study, is_included)
    tree = open_study(study, damaged="skip")  # results that are not included may be damaged
    # Sorted, because the order in which zarr lists a folder varies.
    names = sorted(node.path.strip("/") for node in tree.subtree if node.attrs.get("complete"))
    tabular = (*ROWS, *(f"{kind}/" for kind in MERGED))  # not maps, typical maps, costs and example sentences
    names = [name for name in names if name.startswith(tabular) and is_included(name)]
    if not names:
        raise StudyProblem(
            f"{study} has no complete result{'' if group is None else f' {group}'}; "
            "run headcount sweep or headcount measure first"
        )
    parts = [
        _about(rows, name, [tree[name].attrs])
        for name in names
        if name.startswith(ROWS)
        for rows in _stacked(name, tree[name].to_dataset())
    ]
    for kind in MERGED:
        tables = {name: as_table(tree[name].to_dataset()) for name in names if name.startswith(f"{kind}/")}
        if tables:
            # A result with a name of its own, such as that of another model, has it in the names of its columns.
            own = [name for name in tables if "@" not in name] or list(tables)
            parts.append(_about(_side_by_side(tables), kind, [tree[name].attrs for name in own]))
    whole: pd.DataFrame = pd.concat(parts, ignore_index=True)
    whole = whole.copy()
    first = ["result", *(column for column in ABOUT if column in whole)]
    return whole[[*first, *(column for column in whole if column not in first)]]


def _about(rows: pd.DataFrame, name: str, attributes: Sequence[Mapping[Any, Any]]) -> pd.DataFrame:
    """Rows with the name of their result and, where all parts of it agree, their model, task and metric."""
    rows = rows.copy()
    for column in ABOUT:
        values = {model_of(each) if column == "model" else str(each.get(column) or "") for each in attributes}
        if len(values) == 1 and "" not in values and column not in rows:
            rows[column] = values.pop()
    return rows.assign(result=name)


def _stacked(name: str, result: xr.Dataset) -> list[pd.DataFrame]:
    """The rows of a result; of heads beside annotations, those of the heads and of the relations or classifiers."""
    if "checkpoint" in result.dims and "score" not in result:  # measured during a training: no curves
        along = sorted(str(key) for key, array in result.data_vars.items() if array.dims == ("checkpoint",))
        return [result[along].to_dataframe().reset_index(), as_table(result, ("checkpoint", *HEAD_DIMS))]
    if not name.startswith(("probe/", "cues/", "cue_heads/", "carriers/", "function_vectors/", "circuit/")):
        return [as_table(result)]
    tables = []
    if any(array.dims[: len(HEAD_DIMS)] == HEAD_DIMS for array in result.data_vars.values()):
        heads = as_table(result)
        for column in [str(column) for column in heads if str(column).endswith(OF_HEAD)]:
            labels = dict(enumerate(result[column.removesuffix(OF_HEAD)].values))
            heads[column] = heads[column].map(labels)
        tables.append(heads)
    for dimension in ("relation", "probe", "cue", "removed", "rank", "task", "subset", "draw", "kept"):
        along = sorted(str(key) for key, array in result.data_vars.items() if array.dims == (dimension,))
        if along:
            tables.append(result[along].to_dataframe().reset_index())
    return tables


def _side_by_side(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    keys = ["stack", "layer", "head"]
    parts = [part.set_index(keys).add_prefix(f"{name.split('/', 1)[1]}.") for name, part in tables.items()]
    return pd.concat(parts, axis=1).copy().reset_index()  # the copy defragments the many columns
