"""Marked parts of texts: the completion that is due after a prompt, and the needle that it can be read from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from headcount.data.row_numbers import name_row
from headcount.errors import DataProblem, short

COMPLETION, NEEDLE = "completion", "needle"
NEEDLE_COLUMNS = ("needle_start", "needle_end")
Spans = dict[str, tuple[int, int]]
"""By class of tokens, the first character and the one after the last; (0, 0) where a text has none."""


def read_spans(table: pd.DataFrame, texts: Sequence[str]) -> list[Spans]:
    """The marked parts of the texts of a table's rows, in its order; each text has the same classes.

    `completion`: the end of the text that is the column `completion`, or what follows the column `prompt`. `needle`:
    the characters from `needle_start` up to `needle_end`.

    >>> table = pd.DataFrame({"prompt": ["a b"], "needle_start": [2], "needle_end": [3]})
    >>> read_spans(table, ["a b b"])
    [{'completion': (3, 5), 'needle': (2, 3)}]
    """
    spans: list[Spans] = [{} for _ in texts]
    completions = [_completion(table, row, text) for row, text in zip(table.index, texts, strict=True)]
    if any(start < stop for start, stop in completions):
        for one, completion in zip(spans, completions, strict=True):
            one[COMPLETION] = completion
    if set(NEEDLE_COLUMNS) <= set(table.columns):
        columns = (table[column].tolist() for column in NEEDLE_COLUMNS)
        for one, row, text, *given in zip(spans, table.index, texts, *columns, strict=True):
            one[NEEDLE] = _needle(given, text, name_row(table.attrs, row))
    return spans


def tokens_of_span(offsets: Sequence[tuple[int, int]], span: tuple[int, int]) -> list[int]:
    """The positions of the tokens that have characters of the span, from the characters of each token.

    >>> tokens_of_span([(0, 0), (0, 3), (3, 5), (5, 9)], (4, 6))
    [2, 3]
    """
    start, stop = span
    return [at for at, (first, after) in enumerate(offsets) if max(first, start) < min(after, stop)]


def _completion(table: pd.DataFrame, row: Any, text: str) -> tuple[int, int]:
    ending = table.at[row, "completion"] if "completion" in table.columns else None
    if isinstance(ending, str) and ending and text.endswith(ending):
        return len(text) - len(ending), len(text)
    prompt = table.at[row, "prompt"] if "prompt" in table.columns else None
    if isinstance(prompt, str) and prompt and text.startswith(prompt):
        return len(prompt), len(text)
    return 0, 0


def _needle(given: list[Any], text: str, where: str) -> tuple[int, int]:
    if all(pd.isna(value) for value in given):
        return 0, 0
    try:
        start, stop = (int(value) for value in given)
        valid = 0 <= start < stop <= len(text) and [start, stop] == given
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise DataProblem(
            f"{where}: got needle_start {short(given[0])} and needle_end {short(given[1])}; "
            f"expected positions in a text of {len(text):,} characters, the first before the second"
        )
    return start, stop
