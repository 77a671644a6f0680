"""Two names of which one is due: "When Mary and John went to the store, John gave a drink to" is followed by " Mary".

The indirect object is the name that occurs once; a model that copies any earlier name is wrong half of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.synthetic.contract import Source
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

    Columns: `wrong` (the other name, as it would be completed), `order` (ABBA or BABA), `template` (its number).
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
        return pd.DataFrame([_row(names, np.random.default_rng([seed, row]), row) for row in range(count)])


def _row(names: list[str], generator: np.random.Generator, row: int) -> dict[str, Any]:
    template = int(generator.integers(len(TEMPLATES)))
    due, giver = (names[number] for number in generator.permutation(len(names))[:2])
    order = ORDERS[row % len(ORDERS)]
    first, second = (due, giver) if order == "ABBA" else (giver, due)
    place, thing = (words[int(generator.integers(len(words)))] for words in (PLACES, THINGS))
    prompt = TEMPLATES[template].format(first=first, second=second, giver=giver, place=place, thing=thing)
    return {
        "prompt": prompt,
        "completion": f" {due}",
        "wrong": f" {giver}",
        "order": order,
        "template": template,
    }


def single_tokens(tokenizer: Any, words: tuple[str, ...]) -> list[str]:
    """The words that are one token each after a space, and not an unknown one."""
    before = list(tokenizer("to", add_special_tokens=False, verbose=False)["input_ids"])
    encoded = tokenizer([f"to {word}" for word in words], add_special_tokens=False, verbose=False)["input_ids"]
    return [
        word
        for word, ids in zip(words, encoded, strict=True)
        if list(ids[:-1]) == before and len(ids) and ids[-1] != tokenizer.unk_token_id
    ]
