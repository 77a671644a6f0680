"""Documents of GAP's table: a text, one pronoun, and two names of which at most one is its antecedent.

Only the pronoun is asked for its antecedent. A name that comes after the pronoun is no antecedent: a text whose pronoun
refers to such a name, or to neither name, has nothing to ask and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.blank_rows import is_absent
from headcount.data.coreference.documents import Document, Mention, in_order
from headcount.data.coreference.mentions import PRONOUN, PROPER, head_word
from headcount.data.row_numbers import name_row
from headcount.data.word_pieces import Span
from headcount.errors import DataProblem, short

MENTIONS = ("Pronoun", "A", "B")
COLUMNS = ("Text", *(column for name in MENTIONS for column in (name, f"{name}-offset")), "A-coref", "B-coref")
NEITHER = "the pronoun refers to neither name"
AFTER = "the name comes after its pronoun"
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]")
_SENTENCE_END = frozenset(".!?")


def read_gap(table: pd.DataFrame) -> Iterator[Document]:
    names = table["ID"] if "ID" in table.columns else [None] * len(table)
    cells = zip(names, *(table[column] for column in COLUMNS), strict=True)
    for row, (name, *values) in zip(table.index, cells, strict=True):
        where = name_row(table.attrs, row)
        yield _document(where if is_absent(name) else str(name), where, dict(zip(COLUMNS, values, strict=True)))


def _document(name: str, where: str, cells: dict[str, Any]) -> Document:
    text = cells["Text"]
    if not isinstance(text, str) or not text.strip():
        raise DataProblem(f"{where}, column 'Text': got {short(text)}; expected a text; fix it or leave the row out")
    spans = {mention: _characters(mention, text, cells, where) for mention in MENTIONS}
    _check_apart(spans, where)
    pieces = _split(text, list(spans.values()))
    words = [text[start:end] for start, end in pieces]
    same = {mention: mention == "Pronoun" or _flag(cells, mention, where) for mention in MENTIONS}
    mentions = []
    for number, (mention, (first, last)) in enumerate(spans.items()):
        start = next(word for word, piece in enumerate(pieces) if piece[0] >= first)
        end = next(word for word, piece in enumerate(pieces) if piece[1] == last) + 1
        pronoun = mention == "Pronoun"
        head = start + head_word(words[start:end])
        entity = 0 if same[mention] else number
        mentions.append(Mention(start, end, head, PRONOUN if pronoun else PROPER, entity, asked=pronoun))
    reason = AFTER if same["A"] or same["B"] else NEITHER
    return Document(name, tuple(words), _sentences(words), in_order(mentions), None, text, reason)


def _characters(mention: str, text: str, cells: dict[str, Any], where: str) -> Span:
    """The characters of a mention, which must be where the offset says."""
    written, offset = cells[mention], cells[f"{mention}-offset"]
    number = offset if isinstance(offset, int | np.integer) and not isinstance(offset, bool) else -1
    if not isinstance(written, str) or not written.strip() or number < 0 or not text.startswith(written, number):
        raise DataProblem(
            f"{where}: {mention} is {short(written)} at character {short(offset)}, but the text has"
            f" {short(text[max(number, 0) :][:20])} there; expected the same; fix {mention} or {mention}-offset"
        )
    start = int(number) + len(written) - len(written.lstrip())
    return start, start + len(written.strip())


def _check_apart(spans: dict[str, Span], where: str) -> None:
    ordered = sorted(spans.items(), key=lambda item: item[1])
    for (one, first), (other, second) in pairwise(ordered):
        if second[0] < first[1]:
            raise DataProblem(
                f"{where}: {one} and {other} overlap in the text; expected three mentions; fix the offsets"
            )


def _flag(cells: dict[str, Any], mention: str, where: str) -> bool:
    value = cells[f"{mention}-coref"]
    known = {"true": True, "false": False}.get(str(value).strip().lower())
    if known is None:
        raise DataProblem(f"{where}, column '{mention}-coref': got {short(value)}; expected TRUE or FALSE")
    return known


def _split(text: str, mentions: Sequence[Span]) -> list[Span]:
    """The characters of each word or punctuation mark; mentions begin and end with a word of their own."""
    borders = {end for span in mentions for end in span}
    pieces = []
    for match in _WORD.finditer(text):
        cuts = [match.start(), *sorted(end for end in borders if match.start() < end < match.end()), match.end()]
        pieces += list(pairwise(cuts))
    return pieces


def _sentences(words: Sequence[str]) -> tuple[int, ...]:
    """The first words of the sentences: those with a capital after a full stop, question or exclamation mark."""
    later = (number for number in range(1, len(words)) if words[number - 1] in _SENTENCE_END)
    return (0, *(number for number in later if words[number][:1].isupper()))
