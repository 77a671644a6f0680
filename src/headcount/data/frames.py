"""Annotation sets of FrameNet: a text, the target that evokes a frame, and the elements of the frame, by characters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.blank_rows import is_absent
from headcount.data.framenet import INDEX, PREFIX, read_framenet
from headcount.data.in_memory import InMemory
from headcount.data.row_numbers import name_row, source_of
from headcount.data.tables import read_table
from headcount.data.word_pieces import Span
from headcount.errors import DataProblem, listed, short

COLUMNS = ("text", "target", "fes")


@dataclass(frozen=True)
class Element:
    """An element of a frame that is realised in the text."""

    name: str
    span: Span
    core: bool | None
    """Whether it is a core element of its frame; None where that is not known."""


@dataclass(frozen=True)
class AnnotationSet:
    """One frame in one text."""

    text: str
    targets: tuple[Span, ...]
    elements: tuple[Element, ...]
    """Those that are realised."""


def read_frames(data: str | Path | InMemory) -> Iterator[AnnotationSet]:
    """The annotation sets of a table, or of a copy of FrameNet (a folder with `frameIndex.xml`, or `nltk:NAME`).

    A table has the columns `text`, `target` (a list of [start, end) in characters) and `fes` (a list of elements, each
    with `name`, `start`, `end` and perhaps `core`: "Core", "Peripheral", ...; `start` is null where an element is not
    realised); a column may hold its lists as JSON. What is malformed raises `DataProblem`.

    >>> elements = [{"name": "Agent", "start": 0, "end": 3, "core": "Core"}]
    >>> [found] = read_frames(pd.DataFrame({"text": ["She ran"], "target": ["[[4, 7]]"], "fes": [elements]}))
    >>> found.targets, found.elements[0].span
    (((4, 7),), (0, 3))
    """
    if isinstance(data, str) and data.startswith(PREFIX):
        return _checked(read_framenet(data), data)
    if isinstance(data, str | Path) and (Path(data) / INDEX).is_file():
        return _checked(read_framenet(str(data)), str(data))
    return _from_table(read_table(data))


def _checked(rows: Iterator[dict[str, Any]], source: str) -> Iterator[AnnotationSet]:
    for row in rows:
        yield _annotation_set(row["text"], row["target"], row["fes"], f"{source}, {row['name']}")


def _from_table(table: pd.DataFrame) -> Iterator[AnnotationSet]:
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise DataProblem(
            f"{source_of(table)} has no column {', '.join(missing)}; it has {listed(table.columns)}; expected "
            f"{', '.join(COLUMNS)} for frames; add or rename columns"
        )
    for index, text, target, elements in zip(table.index, *(table[column] for column in COLUMNS), strict=True):
        where = name_row(table.attrs, index)
        yield _annotation_set(text, _list(target, "target", where), _list(elements, "fes", where), where)


def _list(cell: object, column: str, where: str) -> Sequence[Any]:
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError as error:
            raise DataProblem(f"{where}, column {column!r}: got {short(cell)}, which is not JSON; fix it") from error
    if not isinstance(cell, list | tuple | np.ndarray):
        raise DataProblem(f"{where}, column {column!r}: got {short(cell)}; expected a list, perhaps as JSON; fix it")
    return list(cell)


def _annotation_set(text: object, target: Sequence[Any], elements: Sequence[Any], where: str) -> AnnotationSet:
    if not isinstance(text, str) or not text.strip():
        raise DataProblem(f"{where}, column 'text': got {short(text)}; expected a sentence; fix or remove the row")
    targets = tuple(_span(span, text, "target", where) for span in target)
    realised = []
    for element in elements:
        if not isinstance(element, dict) or not {"name", "start", "end"} <= set(element):
            raise DataProblem(
                f"{where}, column 'fes': got {short(element)}; expected an element with name, start and end; fix it"
            )
        if not is_absent(element["start"]):
            span = _span((element["start"], element["end"]), text, str(element["name"]), where)
            core = element.get("core")
            realised.append(Element(str(element["name"]), span, None if core is None else core == "Core"))
    return AnnotationSet(text, targets, tuple(realised))


def _span(span: Any, text: str, name: str, where: str) -> Span:
    try:
        start, end = map(int, span)
    except (TypeError, ValueError):
        raise DataProblem(f"{where}: got {short(span)} as the span of {name}; expected [start, end); fix it") from None
    if not 0 <= start < end <= len(text):
        raise DataProblem(
            f"{where}: {name} is at {start} to {end}, but the text has {len(text)} characters; expected a span in it"
        )
    if not text[start:end].strip():
        raise DataProblem(f"{where}: {name} is at {start} to {end}, where there is no word; expected some; fix it")
    return start, end
