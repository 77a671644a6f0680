"""A model with texts that a measure is held to its formula on, and the heads of the planted model in arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers as tf
import xarray as xr

from headcount.measures.contract import CHANCE
from headcount.measures.measure import measure
from tests.closeness import ROUNDED, assert_same
from tests.contracts.zoo import BY_NAME
from tests.measures import naive
from tests.measures.planted import HEADS, LAYERS, ROLES, WORDS

EVERY = [f"L{layer}H{head}" for layer in range(LAYERS) for head in range(HEADS)]
UNIFORM = [place for place in EVERY if place not in ROLES.values() or place == ROLES["uniform"]]
"""The heads that attend to all tokens alike."""
TREES = [
    "The:DET:2:det dog:NOUN:3:nsubj chased:VERB:0:root a:DET:5:det cat:NOUN:3:obj .:PUNCT:3:punct",
    "She:PRON:2:nsubj slept:VERB:0:root",
    (
        "Every:DET:2:det child:NOUN:3:nsubj likes:VERB:0:root the:DET:6:det old:ADJ:6:amod teacher:NOUN:3:obj "
        ",:PUNCT:11:punct but:CCONJ:11:cc he:PRON:11:nsubj never:ADV:11:advmod saw:VERB:3:conj him:PRON:11:obj "
        ".:PUNCT:3:punct"
    ),
    "It:PRON:4:nsubj was:AUX:4:cop not:PART:4:advmod red:ADJ:0:root .:PUNCT:4:punct",
    "Dogs:NOUN:2:nsubj chased:VERB:0:root birds:NOUN:2:obj quickly:ADV:2:advmod .:PUNCT:2:punct",
    (
        "The:DET:3:det small:ADJ:3:amod woman:NOUN:4:nsubj gave:VERB:0:root her:PRON:4:iobj some:DET:7:det "
        "books:NOUN:4:obj because:SCONJ:10:mark they:PRON:10:nsubj found:VERB:4:advcl him:PRON:10:obj near:ADP:14:case "
        "the:DET:14:det river:NOUN:10:obl .:PUNCT:4:punct"
    ),
]


def sentence(spelled: str) -> naive.Sentence:
    """From `word:UPOS:head:relation` for each word."""
    rows = [word.rsplit(":", 3) for word in spelled.split()]
    words, upos, heads, deprels = map(list, zip(*rows, strict=True))
    return naive.Sentence(words, upos, [int(head) for head in heads], deprels)


def table(sentences: list[naive.Sentence]) -> pd.DataFrame:
    """What `measure` takes for annotated sentences."""
    names = {"tokens": "words", "upos": "upos", "heads": "heads", "deprels": "deprels"}
    return pd.DataFrame({column: [getattr(one, name) for one in sentences] for column, name in names.items()})


@dataclass(eq=False)
class Texts:
    """A model, texts in the form that `measure` takes, and the same texts one by one."""

    model: Any
    tokenizer: Any
    data: Any
    rows: list[Any]
    limit: int | None = None

    @functools.cache  # noqa: B019
    def measured(self, *names: str) -> xr.DataTree:
        return measure(self.model, self.tokenizer, self.data, only=names, limit=self.limit)

    @functools.cache  # noqa: B019
    def seen(self, row: int) -> naive.Text:
        return naive.see(self.model, self.tokenizer, self.rows[row])

    def compare(
        self,
        name: str,
        formula: Callable[[naive.Text], naive.Values],
        trusted: Callable[[str, naive.Text], np.ndarray] | None = None,
        beside: str = "",
        within: float = ROUNDED,
    ) -> xr.Dataset:
        """Every value of every text is what the formula says; `trusted` chooses heads [layer, head] of a variable."""
        found = self.measured(name, *beside.split())[name].to_dataset()
        variables = {str(one).removeprefix("values_") for one in found.data_vars if str(one).startswith("values_")}
        for row in found.example.values:
            text = self.seen(int(row))
            expected = formula(text)
            # Chance is the same formula for a head that attends to all tokens alike.
            uniform = formula(replace(text, maps=np.full_like(text.maps, 1 / len(text))))
            chances = [one for one in variables if one.endswith(CHANCE)]
            expected |= {one: uniform[one.removesuffix(CHANCE)] for one in chances}
            assert set(expected) == variables
            for variable, values in expected.items():
                given = found[f"values_{variable}"].sel(example=row, stack="encoder").values
                assert given.shape == values.shape
                chosen = np.ones(values.shape[:2], dtype=bool) if trusted is None else trusted(variable, text)
                largest = max(1.0, np.nanmax(np.abs(values), initial=0))  # shares of 1, and norms of any size
                assert_same(given[chosen], values[chosen], within, variable, largest=largest)
        return found


def small(kind: str, family: str, **options: Any) -> Any:
    """A tiny random float64 model of the family with the planted vocabulary and attention far from uniform."""
    case = BY_NAME[family]
    config = getattr(tf, case.config)(**case.options | {"vocab_size": len(WORDS)} | options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = getattr(tf, kind)(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.normal_(0, case.spread)
    return model.double()


def at(array: Any, place: str) -> Any:
    """The value, or the values along the other dimensions, of one head."""
    layer, head = map(int, place[1:].split("H"))
    values = array.sel(stack="encoder", layer=layer, head=head).values
    return values if values.ndim else values.item()


def others(array: Any, *places: str) -> np.ndarray:
    """The values of all other heads."""
    return np.array([at(array, place) for place in EVERY if place not in places])
