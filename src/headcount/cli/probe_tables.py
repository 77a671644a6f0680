"""What `headcount probe` prints of each kind of annotations: its table and sentences, or JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import xarray as xr
from rich.table import Table

from headcount.story.classifiers import classifier_rows, classifier_sentences, heading
from headcount.story.coreference import antecedent_rows, antecedent_sentences
from headcount.story.relations import relation_rows, relation_sentences


def relations_as_json(probed: xr.Dataset) -> dict[str, Any]:
    """The numbers of each relation, for scripts."""
    columns = [name for name, array in probed.data_vars.items() if array.dims == ("relation",)]
    table = probed[columns].to_dataframe().reset_index()
    return {"attributes": {"lost": probed.attrs["lost"]}, "relations": json.loads(table.to_json(orient="records"))}


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


LINES: dict[str, Callable[[xr.Dataset], list[Any]]] = {
    "dependencies": relation_lines,
    "coreference": antecedent_lines,
    "classifiers": classifier_lines,
}
