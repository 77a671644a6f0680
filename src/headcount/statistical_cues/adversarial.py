"""Adversarial twins of multiple-choice examples: with a negated claim the other choice is right, and no cue helps.

Niven and Kao (2019) negate the claim of every example and invert its label. Each pair of choices then occurs twice,
with either one correct, so that every cue in the choices has a productivity of exactly 1/2. Swapped choices take their
label with them: they balance the position of the correct choice, and leave the cues as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headcount.ablation.job import Data, read_data
from headcount.core.options import belongs_to
from headcount.data.row_numbers import source_of
from headcount.data.tables import read_table
from headcount.errors import CannotWrite, DataProblem, HeadcountWarning, InvalidOption, cannot_write, listed, short
from headcount.statistical_cues.presence import find_cues
from headcount.statistical_cues.productivity import choice_entries, choice_statistics
from headcount.statistical_cues.reading import find_cue_task, read_cue_data
from headcount.statistical_cues.tokenize import split_texts
from headcount.statistical_cues.twin_pairs import TWIN

COLUMNS = ("original", "negated")
"""The columns of a map of negations; a table with two columns of other names is read in their order."""


def adversarial(
    data: Data,
    *,
    choices: Iterable[str],
    label: str | None = None,
    negations: str | Path | pd.DataFrame | None = None,
    claim: str | None = None,
    swap: bool = False,
    output: str | Path | None = None,
) -> pd.DataFrame:
    """A multiple-choice data set with the adversarial twins of its examples, as a table (Niven and Kao 2019).

    `choices`: the columns of the choices; `label`: that of the number of the correct one. `negations`: a table of
    claims and their negations, in the columns `original` and `negated` (or in its only two columns). The twin of an
    example has the negation in the column `claim` ("claim" by default) and the other one of its two choices as label.
    `swap`: add each example with its choices in reverse order, which balances the position of the correct choice but
    not the cues. `output`: a file to write, csv, tsv, parquet or jsonl.

    The column `twin` says what a row is: original, negated, swapped, or both; the originals come first. The attributes
    of the table say whether all cues are at chance: `cues` is the number of words and bigrams that exactly one choice
    has somewhere, `off_chance` how many of them have a productivity other than 1/m, `largest` the largest distance from
    it, and `first` the share of examples whose first choice is correct.
    """
    if negations is None and not swap:
        raise InvalidOption("got neither negations= nor swap=True; expected a table of negations, or swap=True")
    belongs_to("claim", claim, "negations", negations)
    suffix = "" if output is None else Path(output).suffix
    if output is not None and suffix not in _WRITERS:
        raise InvalidOption(f"got output={output}; expected a file that ends in {', '.join(_WRITERS)}")
    cue_task = find_cue_task(data, None, choices, None, label, None, modelled=False)
    table = read_data(data, cue_task.task)
    read = read_cue_data(table, cue_task, None, None, 0)  # checks choices and labels, and leaves out blank rows
    label_column, names = str(read.examples.task.label), list(cue_task.choices)
    if TWIN in table.columns:
        raise DataProblem(f"{source_of(table)} has a column {TWIN!r} already; rename it, or give the original data")
    table = _changed(table.loc[read.examples.ids], {label_column: read.labels, TWIN: "original"})
    parts = [table]
    if negations is not None:
        if len(names) != 2:
            raise InvalidOption(f"got {len(names)} choices; a negated claim says which one is right only of two")
        parts.append(_negate(table, negations, claim or "claim", label_column))
    if swap:
        parts += [_swap(part, names, label_column) for part in parts]
    twins = pd.concat(parts, ignore_index=True)
    twins.attrs = check_balance(twins, names, label_column)
    if output is not None:
        _write(twins, Path(output))
    return twins


def check_balance(table: pd.DataFrame, choices: list[str], label: str) -> dict[Any, float]:
    """How many words and bigrams are applicable, how many have another productivity than chance, and by how much."""
    rows = len(table)
    texts = [text for name in choices for text in table[name].fillna("").astype(str)]
    presence = find_cues(split_texts(texts, "words"))
    parts = [presence.matrix[number * rows : (number + 1) * rows] for number in range(len(choices))]
    statistics = choice_statistics(choice_entries(parts, table[label].to_numpy(), "exactly-one"), rows)
    applicable = statistics["applicability"] > 0
    distance = np.abs(statistics["productivity"][applicable] - 1 / len(choices))
    return {
        "cues": int(applicable.sum()),
        "off_chance": int((distance > 1e-12).sum()),
        "largest": float(distance.max(initial=0)),
        "first": float((table[label] == 0).mean()),
    }


def _negate(table: pd.DataFrame, negations: str | Path | pd.DataFrame, claim: str, label: str) -> pd.DataFrame:
    if claim not in table.columns:
        known = f"{source_of(table)} has {listed(table.columns)}"
        raise DataProblem(f"no column {short(claim)} of claims; {known}: name it with claim=")
    negated = table[claim].astype(str).str.strip().map(_read_negations(negations))
    lacking = negated.isna()
    if lacking.any():
        claims = table.loc[lacking, claim].astype(str).drop_duplicates()
        raise DataProblem(
            f"no negation of {len(claims):,} of {table[claim].nunique():,} claims (of {int(lacking.sum()):,} of "
            f"{len(table):,} rows): {listed(claims, 3)}; add them to the table of negations"
        )
    same = table.loc[(negated == table[claim].astype(str).str.strip()).to_numpy(), claim]
    if len(same):
        warnings.warn(
            f"{same.nunique():,} claims ({len(same):,} rows) are their own negation: {listed(same.unique(), 3)}",
            HeadcountWarning,
            stacklevel=3,
        )
    return _changed(table, {claim: negated, label: 1 - table[label], TWIN: "negated"})


def _read_negations(negations: str | Path | pd.DataFrame) -> dict[str, str]:
    table = read_table(negations)
    names = COLUMNS if set(COLUMNS) <= set(table.columns) else tuple(table.columns)
    if len(names) != 2:
        raise DataProblem(f"{source_of(table)} has {listed(names)}; expected the columns {' and '.join(COLUMNS)}")
    pairs = table[list(names)].dropna().astype(str).apply(lambda column: column.str.strip())
    pairs = pairs[(pairs != "").all(axis=1)].drop_duplicates()
    twice = pairs[names[0]][pairs[names[0]].duplicated()]
    if len(twice):
        raise DataProblem(f"{source_of(table)} has several negations of {short(twice.iloc[0])}; expected one of each")
    return dict(zip(pairs[names[0]], pairs[names[1]], strict=True))


def _swap(table: pd.DataFrame, choices: list[str], label: str) -> pd.DataFrame:
    reversed_choices = {name: table[other] for name, other in zip(choices, choices[::-1], strict=True)}
    kind = table[TWIN].map({"original": "swapped", "negated": "negated and swapped"})
    return _changed(table, {**reversed_choices, label: len(choices) - 1 - table[label], TWIN: kind})


def _changed(table: pd.DataFrame, columns: dict[str, Any]) -> pd.DataFrame:
    """The table with other columns, whatever their names."""
    return table.assign(**columns)


_WRITERS = {
    ".csv": lambda table, file: table.to_csv(file, index=False),
    ".tsv": lambda table, file: table.to_csv(file, index=False, sep="\t"),
    ".parquet": lambda table, file: table.to_parquet(file, index=False),
    ".jsonl": lambda table, file: table.to_json(file, orient="records", lines=True),
}


def _write(table: pd.DataFrame, file: Path) -> None:
    try:
        _WRITERS[file.suffix](table, file)
    except OSError as error:
        raise CannotWrite(cannot_write(file, error)) from error
