"""Further labelled examples that every run is scored on, such as a test set: read, checked and scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from headcount.core.provenance import fingerprint
from headcount.data.blank_rows import leave_out_blank
from headcount.data.read_rows import read_rows
from headcount.data.row_numbers import source_of
from headcount.errors import DataProblem, InvalidOption, listed, short
from headcount.training.parts import Part
from headcount.training.splits import Splits, label_values
from headcount.zoo.bundled import find_data

TESTS = "tests"
"""Where the result of a run keeps its scores on further sets."""
VALIDATION = "validation"
"""What the examples that every run is scored on are called beside them."""
TAKEN = ("train", VALIDATION)

Sources = Mapping[str, str | Path | pd.DataFrame]


def check_set_names(tests: Sources) -> None:
    """Refuse a set without a name, or with that of a split."""
    for name in tests:
        if not isinstance(name, str) or not name.strip() or name in TAKEN:
            raise InvalidOption(
                f"got {short(name)} as the name of a set in tests=; expected a name other than {' and '.join(TAKEN)}"
            )


def add_sets(splits: Splits, tests: Sources, parts: Sequence[Part], tokenizer: Any) -> Splits:
    """The splits with further tables, each without the rows that are blank in one of the parts."""
    tables = {}
    for name, source in tests.items():
        table = read_rows(find_data(source), splits.task)
        _check_columns(name, table, splits, parts)
        for part in parts:
            table = leave_out_blank(table, (*part.columns, *part.choices), splits.task.kind, tokenizer)
        tables[name] = table
    return replace(splits, tests=tables)


def _check_columns(name: str, table: pd.DataFrame, splits: Splits, parts: Sequence[Part]) -> None:
    """Refuse a table that lacks a column of the inputs or the label, or has labels that no run was trained on."""
    label = [splits.task.label] if splits.task.label else []
    needed = [*dict.fromkeys(column for part in parts for column in (*part.columns, *part.choices)), *label]
    missing = [column for column in needed if column not in table.columns]
    if missing:
        present = f"{source_of(table)} has {listed(table.columns)}"
        raise DataProblem(f"the test set {short(name)} has no column {listed(missing)}; {present}")
    if splits.task.kind.named_classes:
        known, own = (label_values(each[label[0]]) for each in (splits.train, table))
        if not own <= known:
            unknown = sorted(map(str, own - known))
            raise DataProblem(f"the test set {short(name)} has the labels {listed(unknown)}, which train has not")


def score_sets(splits: Splits, score: Callable[[pd.DataFrame], dict[str, float]]) -> dict[str, Any]:
    """The scores on each further set, with what it takes to recognise its examples, for the result of a run."""
    scores = {
        name: {"data": set_fingerprint(splits, table), "examples": len(table), "scores": score(table)}
        for name, table in splits.tests.items()
    }
    return {TESTS: scores} if scores else {}


def unscored_sets(result: Mapping[str, Any], splits: Splits) -> list[str]:
    """The sets that a finished run was not scored on, or whose examples have changed since."""
    before = result.get(TESTS, {})
    return [
        name
        for name, table in splits.tests.items()
        if before.get(name, {}).get("data") != set_fingerprint(splits, table)
    ]


def set_fingerprint(splits: Splits, table: pd.DataFrame) -> str:
    """Of the texts and labels of a further set."""
    columns = [*splits.task.columns(table), *([splits.task.label] if splits.task.label else [])]
    return fingerprint([table[name].astype(str).tolist() for name in columns])
