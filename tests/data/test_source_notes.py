"""Notes of a source: on the table, on its parts, and on the examples that are read from it."""

from __future__ import annotations

import pandas as pd

from headcount.data.examples import read_examples
from headcount.data.source_notes import add_notes, notes_of
from headcount.data.tasks import find_task


def test_parts_and_examples_have_the_notes_of_the_table() -> None:
    table = pd.DataFrame({"prompt": ["a", "b"], "completion": [" c", " d"]})
    assert notes_of(table.attrs) == ()
    table = add_notes(add_notes(table, ["one"]), ["two", "three"])
    assert notes_of(table.iloc[:1].attrs) == ("one", "two", "three")
    assert read_examples(table, find_task("completion"), None, limit=1).notes == ("one", "two", "three")
