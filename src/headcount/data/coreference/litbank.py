"""Documents of a table like LitBank's: tokens, the lengths of the sentences, and the mentions of each entity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.blank_rows import is_absent
from headcount.data.coreference.documents import Document, Span, check_entities, check_words, make_document
from headcount.data.row_numbers import name_row
from headcount.data.tables import list_of
from headcount.errors import DataProblem, short

COLUMNS = ("tokens", "sent_lens", "clusters")


def read_litbank(table: pd.DataFrame) -> Iterator[Document]:
    """`clusters` are lists of [start, end) spans of tokens, as JSON or lists; `doc` is a name, where there is one."""
    names = table["doc"] if "doc" in table.columns else [None] * len(table)
    cells = zip(names, *(table[column] for column in COLUMNS), strict=True)
    for row, (name, tokens, lengths, clusters) in zip(table.index, cells, strict=True):
        where = name_row(table.attrs, row)
        if not is_absent(name):
            where += f", document {short(name)}"
        words = list_of(tokens, "tokens", where)
        check_words(where, words)
        sizes = _numbers(
            list_of(lengths, "sent_lens", where), f"{where}, column 'sent_lens'", "the length of a sentence"
        )
        if sum(sizes) != len(words) or min(sizes, default=0) < 1:
            raise DataProblem(
                f"{where}: the sentence lengths add up to {sum(sizes)}; expected lengths from 1 that add up to the"
                f" {len(words)} tokens; fix sent_lens"
            )
        entities = [_spans(cluster, where) for cluster in list_of(clusters, "clusters", where)]
        check_entities(where, entities, len(words))
        starts = [0, *accumulate(sizes[:-1])]
        yield make_document(where if is_absent(name) else str(name), words, starts, entities)


def _spans(cluster: object, where: str) -> list[Span]:
    spans = []
    for span in list_of(cluster, "clusters", where):
        ends = list_of(span, "clusters", where)
        if len(ends) != 2:
            raise DataProblem(f"{where}, column 'clusters': got {short(ends)}; expected spans [start, end)")
        start, end = _numbers(ends, f"{where}, column 'clusters'", "[start, end) of a mention")
        spans.append((start, end))
    return spans


def _numbers(values: list[Any], where: str, meaning: str) -> list[int]:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise DataProblem(f"{where}: got {short(value)}; expected whole numbers, {meaning}")
    return [int(value) for value in values]
