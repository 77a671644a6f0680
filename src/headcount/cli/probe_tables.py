"""What `headcount probe` prints of each kind of annotations: its table and sentences, or JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr
from rich.table import Table

from headcount.story.classifiers import classifier_rows, classifier_sentences, heading
from headcount.story.coreference import antecedent_rows, antecedent_sentences
from headcount.story.frames import effect_sentences, filter_rows, frame_rows, frame_sentences
from headcount.story.relations import relation_rows, relation_sentences


def relations_as_json(probed: xr.Dataset) -> dict[str, Any]:
    """The numbers of each relation, for scripts."""
    columns = [name for name, array in probed.data_vars.items() if array.dims == ("relation",)]
    table = probed[columns].to_dataframe().reset_index()
    attributes = {name: probed.attrs[name] for name in ("lost", "filter", "links") if name in probed.attrs}
    return {"attributes": attributes, "relations": json.loads(table.to_json(orient="records"))}


def relation_lines(probed: xr.Dataset) -> list[Any]:
    """The best head of each relation as a table, and what it comes to."""
    table = Table("relation", "best head", "right", "offset", "above the offset", "random")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in relation_rows(probed):
        table.add_row(*row)
    note = "-> the dependent attends to its head, <- the head to its dependent; shares of the words, held-out half:"
    return [note, table, *relation_sentences(probed)]


def antecedent_lines(probed: xr.Dataset) -> list[Any]:
    """The best head of each kind of mention as a table, and what it comes to."""
    table = Table("mentions", "cases", "best head", "right", "nearest", "same head", "rules", "random")
    for column in [table.columns[1], *table.columns[3:]]:
        column.justify = "right"
    for row in antecedent_rows(probed):
        table.add_row(*row)
    note = "-> the mention attends to its antecedent, <- the antecedent to it; shares of the mentions, held-out half:"
    return [note, table, *antecedent_sentences(probed)]


def classifiers_as_json(probed: xr.Dataset) -> dict[str, Any]:
    """The numbers of each classifier, for scripts."""
    columns = [name for name, array in probed.data_vars.items() if array.dims == ("probe",)]
    table = probed[columns].to_dataframe().reset_index() if columns else None
    rows = [] if table is None else json.loads(table.to_json(orient="records"))
    names = ("split", "too_long", "lost", "vectors_from", "vectors_known")
    return {"attributes": {name: probed.attrs[name] for name in names}, "classifiers": rows}


def classifier_lines(probed: xr.Dataset) -> list[Any]:
    """The score of each classifier as a table, and what it comes to."""
    table = Table("classifier", "UAS", "seeds", "above distance and words")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in classifier_rows(probed):
        table.add_row(*row)
    return [heading(probed), table, *classifier_sentences(probed)]


def frame_lines(probed: xr.Dataset) -> list[Any]:
    """What the filter left, the heads above the 99th percentile as a table, and what it comes to."""
    left = Table("annotation sets", "left")
    heads = Table("head", "weight", "compared", "unlinked", "difference", "q")
    for table, rows in ((left, filter_rows(probed)), (heads, frame_rows(probed))):
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows:
            table.add_row(*row)
    note = (
        "-> the element attends to the predicate, <- the predicate to the element; mean weights over sentences, of all "
        "links and of those that can be compared with unlinked words at the same distance:"
    )
    return [left, note, heads, *frame_sentences(probed)]


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
