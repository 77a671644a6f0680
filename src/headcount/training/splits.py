"""The training and validation examples of a task, from a folder or the hub, checked against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headcount.core.provenance import fingerprint
from headcount.data.blank_rows import leave_out_blank
from headcount.data.hub import find_hub
from headcount.data.in_memory import InMemory, name_of
from headcount.data.number_options import check_numbers
from headcount.data.read_rows import read_rows
from headcount.data.row_numbers import name_row
from headcount.data.synthetic.source import refuse_source
from headcount.data.tasks import GLUE, Task, find_task, plain_name, spell_task
from headcount.errors import DataProblem, listed, short
from headcount.zoo.bundled import PREFIX as BUNDLED
from headcount.zoo.bundled import find_data


@dataclass(frozen=True)
class Splits:
    """Both tables of a task, and the names of its classes in the order of their numbers (none for a regression)."""

    task: Task
    train: pd.DataFrame
    validation: pd.DataFrame
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    tests: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Further examples by name, on which runs are scored too (`scored_sets`)."""
    source: Mapping[str, Any] | None = None
    """The task and where its data is, so that `read_again` finds both; None for a table in memory."""

    @property
    def fingerprint(self) -> str:
        """Of the texts and labels of both tables; what else is scored changes no run."""
        columns = [*self.task.columns(self.train), *([self.task.label] if self.task.label else [])]
        return fingerprint(
            [table[name].astype(str).tolist() for table in (self.train, self.validation) for name in columns]
        )


def read_splits(
    task: Task, root: str | Path | InMemory | None, limit: int | None = None, seed: int = 0, tokenizer: Any = None
) -> Splits:
    """The splits of a task: `root` is its folder, one with a folder for each task, a DatasetDict, or a file or a table
    in memory, of which a fifth is held out.

    With a tokenizer, rows that are blank to it are left out before `limit` examples are sampled.
    """
    refuse_source(root, "synthetic texts have no training split", "a file, or a folder with train.* and validation.*")
    source = _spell_source(task, root)
    root = find_data(root)

    def without_blank(table: pd.DataFrame) -> pd.DataFrame:
        if tokenizer is None:
            return table
        return leave_out_blank(table, task.columns(table), task.kind, tokenizer)

    hub = find_hub(root)
    if isinstance(root, Mapping) or (hub is not None and hub.split is None):
        own = task.hub[2] if task.hub else None
        train, validation = map(
            without_blank, (read_rows(root, task, "train"), read_rows(root, task, "validation", own))
        )
    elif root is not None and (hub is not None or not isinstance(root, str | Path) or Path(root).is_file()):
        train, validation = _held_out(without_blank(read_rows(root, task)), name_of(root))
    else:
        train, validation = map(without_blank, _from_hub(task) if root is None else _from_folder(task, Path(root)))
    check_numbers(limit=limit)
    task, notes = task.with_label(train)
    train, validation = (task.with_lists(table) for table in (train, validation))
    names = _class_names(task, train, validation)  # of all examples: a sample may lack a class
    if limit is not None and limit < len(train):
        rows = np.sort(np.random.default_rng(seed).permutation(len(train))[:limit])
        train = train.iloc[rows]
    if task.kind.named_classes and task.names is None:
        task = replace(task, names=names, user_labels=names)
    return Splits(task, train, validation, names, notes, source=source)


def read_again(source: Mapping[str, Any], tokenizer: Any = None) -> Splits:
    """The splits that had this `source`, without a limit of the training examples."""
    return read_splits(find_task(**source["task"]), source["data"], tokenizer=tokenizer)


def _spell_source(task: Task, root: str | Path | InMemory | None) -> dict[str, Any] | None:
    if root is not None and not isinstance(root, str | Path):
        return None
    known = root is None or str(root).startswith(BUNDLED) or find_hub(root) is not None
    return {"task": spell_task(task), "data": root if known else str(Path(str(root)).absolute())}


HELD_OUT = 0.2


def _held_out(table: pd.DataFrame, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table, always in the same way: all seeds are scored on the same examples."""
    count = round(HELD_OUT * len(table))
    if count < 1:
        raise DataProblem(f"{name} has {len(table)} rows; expected enough to hold a fifth out for validation")
    order = np.random.default_rng(0).permutation(len(table))
    parts = [table.iloc[np.sort(rows)] for rows in (order[count:], order[:count])]
    return parts[0], parts[1]


def _from_folder(task: Task, root: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    if not root.is_dir():
        raise DataProblem(f"there is no folder {root}; expected one with train.* and validation.*, or a folder a task")
    # MNLI's two validation sets share a folder, as they share a data set on the hub.
    _, config, split = task.hub or (None, task.name, "validation")
    folders = {plain_name(path.name): path for path in sorted(root.iterdir(), reverse=True) if path.is_dir()}
    folder = folders.get(plain_name(task.name)) or folders.get(plain_name(config)) or root
    return read_rows(folder, task, "train"), read_rows(folder, task, "validation", split)


def _from_hub(task: Task) -> tuple[pd.DataFrame, pd.DataFrame]:
    from headcount.data.hub import read_hub

    if task.name not in GLUE or task.hub is None:
        raise DataProblem(f"{task.name} is not on the hub by that name; give its folder with data=")
    path, config, split = task.hub
    return read_hub(path, config, "train"), read_hub(path, config, split)


def _class_names(task: Task, train: pd.DataFrame, validation: pd.DataFrame) -> tuple[str, ...]:
    """The names of the classes; labels that differ between the splits, or are all alike, are errors."""
    if not task.kind.named_classes or task.label is None:
        return ()
    labels = []
    for split, table in (("train", train), ("validation", validation)):
        if task.label not in table.columns:
            raise DataProblem(f"{split}: no label column {short(task.label)}; it has {listed(table.columns)}")
        labels.append(label_values(table[task.label]))
    known, validated = labels
    if not validated <= known:
        unknown = sorted(map(str, validated - known))
        raise DataProblem(f"validation has the labels {listed(unknown)}, which train has not; expected the same labels")
    if len(known) < 2:
        raise DataProblem(f"train has one class only ({short(next(iter(known)))}); expected at least two")
    folded = {str(value).lower().replace(" ", "_") for value in known}
    if len(folded) < len(known):
        raise DataProblem(f"labels differ only in their spelling: {listed(sorted(map(str, known)))}; make them one")
    if task.names is not None:
        return task.names
    return tuple(str(value) for value in sorted(known, key=lambda value: (isinstance(value, str), value)))


def label_values(column: pd.Series) -> set[Any]:
    """The distinct labels of a column, those of lists included; an error where one is missing."""
    attrs = column.attrs
    if len(column) and isinstance(column.iloc[0], list | np.ndarray):
        column = pd.Series([tag for tags in column for tag in tags], np.repeat(column.index, list(map(len, column))))
    if column.isna().any():
        first = name_row(attrs, column.index[column.isna()][0])
        raise DataProblem(f"{first}: the label is missing (NaN); expected a value")
    return {value.item() if isinstance(value, np.generic) else value for value in column.unique()}
