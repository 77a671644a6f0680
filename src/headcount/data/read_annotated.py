"""Annotated sentences from a CoNLL-U file or from a table with lists of words and tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from headcount.data.annotations import Annotated, check_sentence
from headcount.data.blank_rows import is_absent
from headcount.data.conllu import CONLLU, read_conllu
from headcount.data.hub import find_hub
from headcount.data.in_memory import InMemory
from headcount.data.row_numbers import name_row
from headcount.data.tables import SUFFIXES, list_of, read_table
from headcount.errors import DataProblem, listed, short

EACH_WORD = ", one entry for each word"


def read_annotated(data: str | Path | InMemory, texts: bool = True) -> list[Annotated]:
    """The sentences of a `.conllu` file, or of a table (parquet, csv, tsv, jsonl, folder, data frame), in their order.

    A `.conllu` file may have `Antecedent=N` in a pronoun's MISC column: N is the number of the noun it stands for.
    A table has lists in the columns `tokens` (or `words`), `upos`, `heads` and `deprels`, and perhaps `sent_id`, `text`
    and `multiword` (lists of [first, last, form], words from 1); a csv file holds lists as JSON or Python code. A text
    must consist of the words (or the multiword tokens in their place) in their order, separated by spaces only; with
    `texts=False` it is not looked at. What is malformed raises `DataProblem`. A sentence may have no words.

    >>> from headcount.data.annotations import word_classes, word_links
    >>> columns = {"tokens": [["She", "sleeps"]], "upos": [["PRON", "VERB"]], "heads": [[2, 0]]}
    >>> [sentence] = read_annotated(pd.DataFrame({**columns, "deprels": [["nsubj", "root"]]}))
    >>> word_classes(sentence)["subject"], word_links(sentence)["verb-subject"]
    ((0,), ((1, 0),))
    """
    if not isinstance(data, str | Path):
        return list(_from_table(read_table(data), "the data frame", texts))
    if find_hub(data) is not None:
        return list(_from_table(read_table(data), str(data), texts))
    path = Path(data)
    if path.suffix == CONLLU:
        return list(read_conllu(path, texts))
    if path.is_file() and path.suffix not in SUFFIXES:
        raise DataProblem(f"got {path}; expected a file that ends in {', '.join(SUFFIXES)}")
    return list(_from_table(read_table(path), str(path), texts))


def _from_table(table: pd.DataFrame, source: str, texts: bool) -> Iterator[Annotated]:
    words = "tokens" if "tokens" in table.columns else "words"
    lists = (words, "upos", "heads", "deprels")
    missing = [column for column in lists if column not in table.columns]
    if missing:
        named = ", ".join("tokens (or words)" if column == words else column for column in missing)
        raise DataProblem(f"{source} has no column {named}; it has {listed(table.columns)}; add or rename columns")
    nothing = [None] * len(table)
    more = [table[column] if column in table.columns else nothing for column in ("sent_id", "text", "multiword")]
    for row, (sent_id, text, tokens, *cells) in enumerate(zip(*more, *(table[name] for name in lists), strict=True)):
        name = str(row + 1) if is_absent(sent_id) else str(sent_id)
        where = name_row(table.attrs, table.index[row]) if is_absent(sent_id) else f"{source}, sentence {short(name)}"
        if all(map(is_absent, cells)):
            cells = [[] for _ in cells]
        columns = {column: list_of(cell, column, where, EACH_WORD) for column, cell in zip(lists, cells, strict=True)}
        multiword = [] if tokens is None or is_absent(tokens) else list_of(tokens, "multiword", where)
        written = text if texts and not is_absent(text) else None
        yield check_sentence(where, name, columns, {}, written, multiword)
