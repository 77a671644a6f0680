"""Two names of which one is due: "When Mary and John went to the store, John gave a drink to" is followed by " Mary".

The indirect object is the name that occurs once; a model that copies any earlier name is wrong half of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.source_notes import add_notes
from headcount.data.synthetic.contract import Source
from headcount.data.synthetic.pairs import Pair, draw_pairs, fill
from headcount.data.synthetic.single_tokens import left_out_note, single_tokens
from headcount.errors import DataProblem

TEMPLATES = (
    "When {first} and {second} went to the {place}, {giver} gave a {thing} to",
    "After {first} and {second} had left the {place}, {giver} handed the {thing} to",
    "While {first} and {second} were waiting at the {place}, {giver} offered a {thing} to",
    "Then {first} and {second} met near the {place}, where {giver} showed a {thing} to",
    "Last week {first} and {second} worked at the {place}, and {giver} sold the {thing} to",
    "Before {first} and {second} walked home from the {place}, {giver} passed the {thing} to",
    "Because {first} and {second} had quarrelled at the {place}, {giver} sent a {thing} to",
    "As soon as {first} and {second} arrived at the {place}, {giver} threw the {thing} to",
)
PLACES = ("store", "station", "library", "market", "garden", "office", "beach", "school", "theatre", "hotel")
THINGS = ("drink", "letter", "book", "ticket", "basket", "key", "picture", "coat", "map", "present")
NAMES = (
    *("Mary", "Anna", "Laura", "Emma", "Sarah", "Alice", "Julia", "Helen", "Lisa", "Rachel", "Maria", "Jane", "Kate"),
    *("Susan", "Amy", "Emily", "Linda", "Ruth", "Clara", "Martha", "Sophie", "Diana", "Eva", "Rose", "Nina", "Carol"),
    *("John", "Peter", "Paul", "Mark", "David", "James", "Robert", "Thomas", "George", "Henry", "Simon", "Adam"),
    *("Daniel", "Michael", "Martin", "Frank", "Jack", "Tom", "Ben", "Sam", "Max", "Alex", "Victor", "Oscar", "Eric"),
)
ORDERS = ("ABBA", "BABA")
"""The order of the names, B being the one that gives: the due name A is mentioned first, or second."""


@dataclass(frozen=True)
class Names(Source):
    """The names are single tokens of the tokenizer, the two orders of the names take turns.

    In the counterpart the other name gives, and `wrong` is due. Columns beside those of pairs: `order` (ABBA or BABA),
    `template` (its number). Spans: `first`, `second`, `giver`, `place`, `thing`.
    """

    name = "names"
    summary = 'two names, of which the one that occurs once is due: "When Mary and John ..., John gave a drink to"'

    def table(self, tokenizer: Any, count: int, seed: int) -> pd.DataFrame:
        names = single_tokens(tokenizer, NAMES)
        if len(names) < 2:
            raise DataProblem(
                f"{type(tokenizer).__name__} has {len(names)} of {len(NAMES)} English first names as single tokens; "
                "'synthetic:names' needs two of them"
            )
        table = draw_pairs(self.name, tokenizer, count, seed, partial(_draw, names))
        return add_notes(table, left_out_note(self.name, len(names), len(NAMES), "first names"))


def _draw(names: list[str], generator: np.random.Generator, row: int) -> Pair:
    template = int(generator.integers(len(TEMPLATES)))
    due, giver = (names[number] for number in generator.permutation(len(names))[:2])
    order = ORDERS[row % len(ORDERS)]
    first, second = (due, giver) if order == "ABBA" else (giver, due)
    place, thing = (words[int(generator.integers(len(words)))] for words in (PLACES, THINGS))
    words = {"first": first, "second": second, "place": place, "thing": thing}
    clean, corrupted = (fill(TEMPLATES[template], words | {"giver": name}) for name in (giver, due))
    return Pair(clean, corrupted, f" {due}", f" {giver}", {"order": order, "template": template})
