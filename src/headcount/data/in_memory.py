"""Tables in memory, in the forms that people have them, as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from headcount.errors import DataProblem, listed, short


@runtime_checkable
class HasFrame(Protocol):
    """What becomes a pandas frame: a Dataset of `datasets`, a polars frame, a table of pyarrow."""

    def to_pandas(self) -> Any: ...


Rows = pd.DataFrame | HasFrame | Sequence[Mapping[str, Any]]
"""A table in memory."""
InMemory = Rows | Mapping[str, Any]
"""A table, or several by the names of their splits, such as a DatasetDict."""
EXPECTED = (
    "expected a file or folder, a data frame (pandas, polars), a Dataset or DatasetDict, or a list of dicts such as "
    "[{'text': ...}]"
)


def as_frame(data: Any, split: str, own: str | None = None) -> pd.DataFrame:
    """The table, or that of a split of several; `own`: the name that a task has for the split.

    >>> as_frame({"train": [{"text": "a"}], "validation": [{"text": "b"}]}, "validation")["text"].tolist()
    ['b']
    """
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, Mapping):
        return as_frame(data[_split_of(data, split, own)], split)
    if not hasattr(data, "to_pandas") and callable(getattr(data, "collect", None)):
        data = data.collect()  # a lazy frame of polars
    if isinstance(data, HasFrame):
        frame = data.to_pandas()
        if isinstance(frame, pd.DataFrame):
            return frame
    elif isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        return pd.DataFrame(list(data))
    elif isinstance(data, Sequence) and not isinstance(data, str) and not data:
        return pd.DataFrame()
    raise DataProblem(f"got {_spell(data)}; {EXPECTED}")


def name_of(data: Any) -> str:
    """The data as a result names it: the path, or what kind of table it is.

    >>> name_of("pairs.csv"), name_of(pd.DataFrame()), name_of([{"text": "a"}])
    ('pairs.csv', 'data frame', 'list of rows')
    """
    if isinstance(data, pd.DataFrame):
        return "data frame"
    if isinstance(data, Sequence | Mapping | HasFrame) and not isinstance(data, str):
        return "list of rows" if isinstance(data, list | tuple) else type(data).__name__
    return str(data)[:200]


def choose_split(names: Iterable[str], split: str, own: str | None = None) -> list[str]:
    """Which of these names are a split's: the task's own, the plain one, MNLI's matched part, or those that begin so.

    >>> choose_split(["train", "validation_matched", "validation_mismatched"], "validation")
    ['validation_matched']
    >>> choose_split(["train_small", "test"], "train")
    ['train_small']
    """
    names = list(names)
    if own is None or own == split:
        exact = [name for name in (split, f"{split}_matched") if name in names][:1]
        return exact or [name for name in names if name.startswith(f"{split}_")]
    begun = [own] if own in names else [name for name in names if name.startswith(own)]
    # The other half of MNLI's validation examples is not what the task means.
    others = (name for name in names if "matched" not in name)
    return begun or [name for name in others if name == split or name.startswith(f"{split}_")]


def _split_of(tables: Mapping[str, Any], split: str, own: str | None) -> str:
    if not tables or not all(_is_table(table) for table in tables.values()):
        raise DataProblem(f"got {_spell(tables)}; {EXPECTED}")
    found = choose_split(tables, split, own)
    if len(found) != 1:
        which = "no" if not found else "several"
        given = listed(tables)
        raise DataProblem(
            f"the {type(tables).__name__} has {which} {split} split; it has {given}: give one of them alone"
        )
    return found[0]


def _is_table(value: Any) -> bool:
    rows = isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(row, Mapping) for row in value)
    return rows or isinstance(value, HasFrame | pd.DataFrame) or callable(getattr(value, "collect", None))


def _spell(data: Any) -> str:
    if isinstance(data, Sequence | Mapping) and not isinstance(data, str):
        inside = next(iter(data.values() if isinstance(data, Mapping) else data), None)
        of = f" of {type(inside).__name__}" if inside is not None else ""
        return f"a {type(data).__name__}{of}"
    plain = data is None or isinstance(data, int | float)
    return short(data) if plain else f"data of the type {type(data).__name__}"
