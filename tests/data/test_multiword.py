"""Words that are written as one: from tables and lines, and in the text."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.data.multiword import Multiword, as_written, read_multiword
from headcount.errors import DataProblem


@pytest.mark.parametrize(
    "entry", [(2, 3, "du"), ["2", "3", "du"], {"first": 2, "last": 3, "form": "du"}, Multiword(2, 3, "du")]
)
def test_every_way_to_say_it(entry: Any) -> None:
    if isinstance(entry, Multiword):
        entry = (entry.first, entry.last, entry.form)
    assert read_multiword(entry, 4, "sentence 1") == Multiword(2, 3, "du")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ((2, "du"), "sentence 1: got .* as a multiword token; expected .first, last, form."),
        ({"first": 2}, "expected .first, last, form."),
        (7, "got 7 as a multiword token"),
        ((0, 1, "du"), "has the words 0 to 1; expected words from 1 to 4"),
        ((3, 2, "du"), "has the words 3 to 2"),
        ((4, 5, "du"), "has the words 4 to 5"),
    ],
)
def test_what_is_refused(entry: Any, message: str) -> None:
    with pytest.raises(DataProblem, match=message):
        read_multiword(entry, 4, "sentence 1")


def test_a_sentence_as_it_is_written() -> None:
    words = ["de", "le", "pont", "à", "le", "port"]
    assert as_written(words, [Multiword(1, 2, "du"), Multiword(4, 5, "au")]) == ["du", "pont", "au", "port"]
    assert as_written(words, []) == words
