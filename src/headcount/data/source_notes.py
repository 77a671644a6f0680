"""Notes of the source of a table on what it left out, which results pass on to their readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

_KEY = "headcount_notes"


def add_notes(table: pd.DataFrame, notes: Iterable[str]) -> pd.DataFrame:
    """The table with these notes, sentences without a full stop, which its parts inherit.

    >>> notes_of(add_notes(pd.DataFrame({"text": ["a", "b"]}), ["one word is left out"]).head(1).attrs)
    ('one word is left out',)
    """
    table.attrs[_KEY] = [*notes_of(table.attrs), *notes]
    return table


def notes_of(attrs: Mapping[Any, Any]) -> tuple[str, ...]:
    """The notes of the source of a table with these `attrs`."""
    return tuple(attrs.get(_KEY, ()))
