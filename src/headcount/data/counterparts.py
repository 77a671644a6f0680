"""Pairs of inputs: each example has a counterpart, whose tokens stand in the same positions or in spans of one name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.encode import Encodings, encode
from headcount.data.examples import Examples
from headcount.data.labels import LabelColumn
from headcount.data.row_numbers import source_of
from headcount.errors import DataProblem, InvalidOption, listed, short

Spans = Mapping[str, tuple[int, int]]
"""By name, the first position of a span of tokens and the one after its last."""
SPANS, COUNTERPART_SPANS = "spans", "counterpart_spans"
"""Columns of named spans of tokens: of the text, and of its counterpart where they stand elsewhere."""
COUNTERPART, WRONG, TASK = "counterpart", "wrong", "task"
"""The usual columns of second inputs, of wrong answers and of the tasks of prompts."""
MOST_ROWS = 3
"""Rows that a message lists."""


@dataclass(frozen=True)
class Counterparts:
    """The counterparts of examples, encoded as these are; spans of both sides, which are empty without a column."""

    encodings: Encodings
    texts: list[tuple[Any, ...]]
    spans: list[Spans]
    counterpart_spans: list[Spans]
    tasks: list[str]
    """The task that each example belongs to, if the data says so; else all belong to one."""

    @property
    def names(self) -> list[str]:
        """The names that every example has on both sides."""
        sides = [set(spans) for spans in (*self.spans, *self.counterpart_spans)]
        shared = set.intersection(*sides) if sides else set()
        return [name for name in self.spans[0] if name in shared] if self.spans else []


def read_counterparts(
    table: pd.DataFrame, examples: Examples, encodings: Encodings, tokenizer: Any, seed: int
) -> Counterparts:
    """The counterparts of the examples, which are rows of the table; `encodings` are the examples' own."""
    texts = _counterpart_texts(table, examples)
    # The first text of a completion or translation is what the model reads; labels stay those of the example.
    others = replace(examples, texts=texts)
    encoded = encode(others, tokenizer, encodings.limit, seed)
    for side in (encodings, encoded):
        if side.cut:
            raise DataProblem(
                f"{side.cut} texts have more than the model's {side.limit} tokens, so that positions of the two inputs "
                "would not match; shorten them"
            )
    if all(own["input_ids"] == other["input_ids"] for own, other in zip(encodings.rows, encoded.rows, strict=True)):
        raise DataProblem(
            f"all {len(texts)} texts and their counterparts are equal as the tokenizer encodes them; expected pairs "
            "that differ"
        )
    spans = _read_spans(table, SPANS, examples, encodings)
    column = COUNTERPART_SPANS if COUNTERPART_SPANS in table else SPANS
    tasks = [str(task) for task in table[TASK]] if TASK in table else [""] * len(texts)
    return Counterparts(encoded, texts, spans, _read_spans(table, column, others, encoded), tasks)


def with_wrong_answers(
    table: pd.DataFrame, examples: Examples, encodings: Encodings, tokenizer: Any, id2label: Mapping[int, str]
) -> Encodings:
    """The encodings with `wrong_labels`, the label of each example's wrong answer."""
    task = examples.task
    name = task.wrong or WRONG
    if name not in table and task.wrong is not None:
        raise DataProblem(f"no column {short(name)} of wrong answers; {source_of(table)} has {listed(table.columns)}")
    column = LabelColumn(table[name], task.names, task.user_labels, id2label) if name in table else None
    wrong = task.kind.wrong_labels(column, examples, encodings, tokenizer, len(id2label))
    rows = [{**row, "wrong_labels": label} for row, label in zip(encodings.rows, wrong, strict=True)]
    return replace(encodings, rows=rows)


def check_aligned(examples: Examples, encodings: Encodings, counterparts: Counterparts) -> None:
    """Refuse pairs of which one has more tokens than the other, by row."""
    pairs = zip(encodings.rows, counterparts.encodings.rows, strict=True)
    shapes = [(_lengths(own), _lengths(other)) for own, other in pairs]
    rows = [number for number, (own, other) in enumerate(shapes) if own != other]
    if rows:
        some = "; ".join(
            f"{examples.where(number)}: {_spell(shapes[number][0])} and {_spell(shapes[number][1])}"
            for number in rows[:MOST_ROWS]
        )
        raise DataProblem(
            f"{len(rows)} of {len(shapes)} pairs have different numbers of tokens ({some}); expected the same number, "
            f"or take align='span' with the columns {SPANS!r} and {COUNTERPART_SPANS!r}"
        )


def check_spans(examples: Examples, counterparts: Counterparts, name: str) -> None:
    """Refuse a name that a row lacks, or whose spans differ in length."""
    if name not in counterparts.names:
        known = counterparts.names
        raise InvalidOption(
            f"got positions={name!r}; expected one of all, last, answer"
            + (f", {', '.join(known)}" if known else f", or a name in a column {SPANS!r} of the data, which has none")
        )
    for number, (own, other) in enumerate(zip(counterparts.spans, counterparts.counterpart_spans, strict=True)):
        sizes = [span[name][1] - span[name][0] for span in (own, other)]
        if sizes[0] != sizes[1]:
            raise DataProblem(
                f"{examples.where(number)}: the span {name!r} has {sizes[0]} tokens in the text and {sizes[1]} in its "
                "counterpart; expected as many"
            )


def _counterpart_texts(table: pd.DataFrame, examples: Examples) -> list[tuple[Any, ...]]:
    names = examples.task.counterpart or (COUNTERPART,)
    missing = [name for name in names if name not in table]
    if missing:
        raise DataProblem(
            f"no column {short(missing[0])} with the second input of each pair; {source_of(table)} has "
            f"{listed(table.columns)}: name it with counterpart="
        )
    width = len(examples.texts[0])
    if len(names) > width:
        raise InvalidOption(f"got {len(names)} columns in counterpart=; the task has {width} text columns")
    columns = [table[name].tolist() for name in names]
    for name, column in zip(names, columns, strict=True):
        for number, value in enumerate(column):
            if not isinstance(value, str):
                where = examples.where(number)
                raise DataProblem(f"{where}, column {short(name)}: got {short(value)}; expected a string")
    others = zip(*columns, strict=True)
    return [(*other, *text[len(names) :]) for other, text in zip(others, examples.texts, strict=True)]


def _read_spans(table: pd.DataFrame, column: str, examples: Examples, encodings: Encodings) -> list[Spans]:
    if column not in table:
        return [{} for _ in encodings.rows]
    return [
        _read_row(value, int(encodings.lengths[number]), f"{examples.where(number)}, column {column!r}")
        for number, value in enumerate(table[column])
    ]


def _read_row(value: Any, length: int, where: str) -> Spans:
    expected = 'expected spans of tokens such as {"subject": [1, 3]}'
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise DataProblem(f"{where}: got {short(value)}; {expected}") from error
    if not isinstance(value, Mapping):
        raise DataProblem(f"{where}: got {short(value)}; {expected}")
    spans = {}
    for name, span in value.items():
        if span is None:  # parquet gives every row the names of all rows
            continue
        try:
            start, stop = (int(end) for end in np.asarray(span).tolist())
        except (TypeError, ValueError) as error:
            raise DataProblem(f"{where}: got {short(span)} for {name!r}; {expected}") from error
        if not 0 <= start < stop <= length:
            raise DataProblem(f"{where}: the span {name!r} is {start} to {stop}, but the text has {length} tokens")
        spans[str(name)] = (start, stop)
    return spans


def _lengths(row: Mapping[str, Any]) -> tuple[int, ...]:
    ids = row["input_ids"]
    return tuple(map(len, ids)) if ids and isinstance(ids[0], list) else (len(ids),)


def _spell(lengths: tuple[int, ...]) -> str:
    return "/".join(map(str, lengths)) + " tokens"
