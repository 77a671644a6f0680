"""What `headcount probe` prints of each kind of annotations: its table and sentences, or JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from rich.table import Table

from headcount.story.classifiers import classifier_rows, classifier_sentences, heading
from headcount.story.coreference import antecedent_rows, antecedent_sentences
from headcount.story.frames import effect_sentences, filter_rows, frame_rows, frame_sentences
from headcount.story.relations import relation_rows, relation_sentences

ATTRIBUTES = {
    "relation": ("lost", "filter", "links"),
    "probe": ("split", "too_long", "lost", "vectors_from", "vectors_known"),
}
"""What is said beside the rows, by the dimension that has the rows."""


def as_json(probed: xr.Dataset) -> dict[str, Any]:
    """The numbers of each relation, or of each classifier, for scripts; none of a part of the work."""
    dim, rows = ("probe", "classifiers") if probed.attrs["measure"] == "classifiers" else ("relation", "relations")
    columns = [name for name, array in probed.data_vars.items() if array.dims == (dim,)]
    table = probed[columns].to_dataframe().reset_index() if columns else pd.DataFrame()
    attributes = {name: probed.attrs[name] for name in ATTRIBUTES[dim] if name in probed.attrs}
    return {"attributes": attributes, rows: json.loads(table.to_json(orient="records"))}


def relation_lines(probed: xr.Dataset) -> list[Any]:
    """The best head of each relation as a table, and what it comes to."""
    columns = ("relation", "best head", "right", "offset", "above the offset", "random")
    note = "-> the dependent attends to its head, <- the head to its dependent; shares of the words, held-out half:"
    return [note, _table(columns, relation_rows(probed), ("relation", "best head")), *relation_sentences(probed)]


def antecedent_lines(probed: xr.Dataset) -> list[Any]:
    """The best head of each kind of mention as a table, and what it comes to."""
    columns = ("mentions", "cases", "best head", "right", "nearest", "same head", "rules", "random")
    note = "-> the mention attends to its antecedent, <- the antecedent to it; shares of the mentions, held-out half:"
    return [note, _table(columns, antecedent_rows(probed), ("mentions", "best head")), *antecedent_sentences(probed)]


def classifier_lines(probed: xr.Dataset) -> list[Any]:
    """The score of each classifier as a table, and what it comes to."""
    columns = ("classifier", "UAS", "seeds", "above distance and words")
    return [heading(probed), _table(columns, classifier_rows(probed), ("classifier",)), *classifier_sentences(probed)]


def frame_lines(probed: xr.Dataset) -> list[Any]:
    """What the filter left, the heads above the 99th percentile as a table, and what it comes to."""
    left = _table(("annotation sets", "left"), filter_rows(probed), ("annotation sets",))
    columns = ("head", "weight", "compared", "unlinked", "difference", "q")
    note = (
        "-> the element attends to the predicate, <- the predicate to the element; mean weights over sentences, of all "
        "links and of those that can be compared with unlinked words at the same distance:"
    )
    return [left, note, _table(columns, frame_rows(probed), ("head",)), *frame_sentences(probed)]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[str]) -> Table:
    """Numbers on the right, the columns that are `texts` on the left."""
    table = Table(*columns)
    for column in table.columns:
        column.justify = "left" if column.header in texts else "right"
    for row in rows:
        table.add_row(*row)
    return table


LINES: dict[str, Callable[[xr.Dataset], list[Any]]] = {
    "dependencies": relation_lines,
    "coreference": antecedent_lines,
    "frames": frame_lines,
    "classifiers": classifier_lines,
}


def lines_of(kind: str, probed: xr.Dataset, study: str | Path | None) -> list[Any]:
    """The tables and sentences of a result; of frames with what the sweeps of the same study say about these heads."""
    lines = LINES[kind](probed)
    return [*lines, *effect_sentences(probed, study)] if kind == "frames" and study is not None else lines
