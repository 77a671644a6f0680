"""One head in numbers: the most telling ones, each with its interval and its rank among all heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount.core.heads import Head
from headcount.reporting.colourings import Colouring, find_colourings
from headcount.reporting.view import View
from headcount.story.names import spell_interval, spell_score

MOST = 10
"""Numbers at most."""


@dataclass(frozen=True)
class Row:
    """A number of a head, or its kind, and where it stands among the others."""

    title: str
    value: str
    rank: str = ""


def head_rows(view: View, head: Head, most: int = MOST) -> list[Row]:
    """What the head does in words and the effect of ablating it, then the numbers in which it is most extreme."""
    place = list(view.layout).index(head)
    known = [one for one in find_colourings(view) if one["values"][place] is not None and one["id"] != "present"]
    kinds = [one for one in known if one["kind"] == "category" and one["id"] in ("roles", "patterns")]
    effects = [one for one in known if one.get("effect") or str(one["id"]).startswith("pruning/importance")][:2]
    others = [one for one in known if one["kind"] != "category" and one not in effects]
    others.sort(key=lambda one: rank_of(one, place)[1])
    return [_row(one, place) for one in (*kinds, *effects, *others)][:most]


def rank_of(colouring: Colouring, place: int) -> tuple[int, int, int]:
    """The first and the last rank that a head shares with others of its value, the largest first, and the number of
    heads with a value; signed values are ranked by their size.

    >>> rank_of({"kind": "sequential", "values": [0.1, 0.7, None, 0.3, 0.3]}, 3)
    (2, 3, 4)
    """
    centre = (colouring.get("centre") or 0) if colouring["kind"] == "diverging" else None
    values = np.array([value for value in colouring["values"] if value is not None])
    own = colouring["values"][place]
    if centre is not None:
        values, own = np.abs(values - centre), abs(own - centre)
    return 1 + int((values > own).sum()), int((values >= own).sum()), len(values)


def _row(colouring: Colouring, place: int) -> Row:
    value = colouring["values"][place]
    if colouring["kind"] == "category":
        return Row(str(colouring["title"]), str(colouring["names"][value]))
    signed = colouring["kind"] == "diverging"
    said = spell_score(value, signed=signed)
    low, high = (colouring.get(end, {place: None})[place] for end in ("low", "high"))
    if low is not None and high is not None:
        said = spell_interval((value, low, high), signed=signed)
    first, last, count = rank_of(colouring, place)
    rank = str(first) if first == last else f"{first} to {last}"
    return Row(str(colouring["title"]), said, f"{rank} of {count}{' by size' if signed else ''}")
