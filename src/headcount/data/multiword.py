"""Words that are written as one, such as French `du` (`de` and `le`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headcount.errors import DataProblem, short


@dataclass(frozen=True)
class Multiword:
    """The words `first` to `last` of a sentence (from 1, both included) are written as `form`."""

    first: int
    last: int
    form: str


def read_multiword(entry: Any, words: int, where: str) -> Multiword:
    """From a triple or a mapping of a table, or from the number and form of a line in a CoNLL-U file ("3-4", "du")."""
    if isinstance(entry, Mapping):
        entry = [entry.get(key) for key in ("first", "last", "form")]
    try:
        first, last, form = entry
        token = Multiword(int(first), int(last), str(form))
    except (TypeError, ValueError):
        raise DataProblem(f"{where}: got {short(entry)} as a multiword token; expected [first, last, form]") from None
    if not 1 <= token.first <= token.last <= words:
        raise DataProblem(
            f"{where}: the multiword token {short(token.form)} has the words {token.first} to {token.last}; "
            f"expected words from 1 to {words}; fix it"
        )
    return token


def as_written(words: Sequence[str], tokens: Sequence[Multiword]) -> list[str]:
    """The words of a sentence with its multiword tokens in their place.

    >>> as_written(["près", "de", "le", "pont"], [Multiword(2, 3, "du")])
    ['près', 'du', 'pont']
    """
    starts = {token.first: token for token in tokens}
    written, word = [], 1
    while word <= len(words):
        token = starts.get(word)
        written.append(words[word - 1] if token is None else token.form)
        word = word + 1 if token is None else token.last + 1
    return written
