"""No value hangs on what else is in the batch: its size, its padding, or the order of the texts."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.measures.catalogue import MEASURES
from headcount.measures.contract import Question, Seen
from headcount.measures.measure import measure
from tests.closeness import ROUNDED, assert_same
from tests.measures.cases import small
from tests.measures.planted import NOUNS, OTHERS, STOPS, VERBS, planted_attention

PLAIN = (
    "position",
    "rare",
    "special",
    "induction",
    "duplicate",
    "entropy",
    "spread",
    "patterns",
    "features",
    "contribution",
)
NAMES = {
    "texts": PLAIN,
    "pairs": (*PLAIN, "sentences", "repeated"),
    "sentences": (*PLAIN, "links"),
}
FEW = settings(max_examples=10, deadline=None, derandomize=True)

words = st.sampled_from(sorted({*NOUNS, *VERBS, *OTHERS, *STOPS, "dogs", "birds"}))
texts = st.lists(words, min_size=1, max_size=40)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """Words with any relations to each other."""
    tokens = draw(texts)
    size = len(tokens)
    heads = [draw(st.integers(0, size).filter(lambda head, own=place + 1: head != own)) for place in range(size)]
    upos = draw(st.lists(st.sampled_from(["NOUN", "VERB", "PRON", "X"]), min_size=size, max_size=size))
    deprels = draw(st.lists(st.sampled_from(["nsubj", "obj", "dep"]), min_size=size, max_size=size))
    return {"tokens": tokens, "upos": upos, "heads": heads, "deprels": deprels}


def table(kind: str, rows: list[Any]) -> pd.DataFrame:
    if kind == "sentences":
        return pd.DataFrame(rows)
    if kind == "texts":
        return pd.DataFrame({"text": [" ".join(row) for row in rows]})
    return pd.DataFrame([[" ".join(part) for part in row] for row in rows], columns=["sentence1", "sentence2"])


def some(kind: str) -> st.SearchStrategy[list[Any]]:
    row = {"texts": texts, "pairs": st.tuples(texts, texts), "sentences": trees()}[kind]
    return st.lists(row, min_size=2, max_size=6)


@functools.cache
def models() -> dict[str, Any]:
    planted, tokenizer = planted_attention()
    return {"random": (small("BertForMaskedLM", "bert"), tokenizer), "planted": (planted.double(), tokenizer)}


def same(one: xr.DataTree, other: xr.DataTree, without: tuple[str, ...] = ()) -> None:
    assert set(one) == set(other)
    for name in one:
        for variable, array in one[name].data_vars.items():
            if str(variable).startswith("values_") and variable not in without:
                assert_same(array, other[name][variable], ROUNDED, f"{name} {variable}", largest=1.0)


def check(which: str, kind: str, rows: list[Any], order: list[int]) -> None:
    """One text a batch, all texts in one batch, and all of them in another order."""
    model, tokenizer = models()[which]
    data = table(kind, rows)
    # Which of several weights that are the same is the largest is a matter of rounding.
    without = ("values_largest_at", "values_largest") if which == "planted" else ()
    alone = measure(model, tokenizer, data, only=NAMES[kind], compute=hc.Compute(batch_tokens=1))
    together = measure(model, tokenizer, data, only=NAMES[kind], compute=hc.Compute(batch_tokens=10**6))
    same(alone, together, without)
    shuffled = measure(
        model,
        tokenizer,
        data.iloc[order].reset_index(drop=True),
        only=NAMES[kind],
        compute=hc.Compute(batch_tokens=100),
    )
    back = np.argsort(order)
    same(
        alone,
        xr.DataTree.from_dict({name: shuffled[name].to_dataset().isel(example=back) for name in shuffled}),
        without,
    )


def test_all_measures_of_the_kind_are_here() -> None:
    """Those of decoders alone have a test of their own, beside their formulas."""
    layered = {name for name, one in MEASURES.items() if one.kind == "layers" and not one.needs_logits} - {"retrieval"}
    assert set().union(*NAMES.values()) == layered


@FEW
@given(data=st.data())
@pytest.mark.parametrize("kind", NAMES)
def test_batches_and_order_do_not_matter(kind: str, data: st.DataObject) -> None:
    rows = data.draw(some(kind))
    check("random", kind, rows, data.draw(st.permutations(range(len(rows)))))


@settings(FEW, max_examples=4)
@given(data=st.data())
@pytest.mark.parametrize("kind", NAMES)
def test_nor_do_they_for_planted_heads(kind: str, data: st.DataObject) -> None:
    rows = data.draw(some(kind))
    check("planted", kind, rows, data.draw(st.permutations(range(len(rows)))))


@pytest.mark.parametrize("kind", NAMES)
def test_a_long_text_beside_a_short_one(kind: str) -> None:
    """The most padding that there can be."""
    short, long = ["dog"], ["the", "dog", "saw", "a", "cat", ",", "and", "slept"] * 5
    rows: dict[str, list[Any]] = {
        "texts": [short, long],
        "pairs": [(short, ["cat"]), (long, short), (short, long[:20])],
        "sentences": [
            {
                "tokens": part,
                "upos": ["NOUN", *["VERB"] * (len(part) - 1)],
                "heads": [0, *[1] * (len(part) - 1)],
                "deprels": ["root", *["nsubj"] * (len(part) - 1)],
            }
            for part in (short, long, long[:3])
        ],
    }
    check("random", kind, rows[kind], list(range(len(rows[kind])))[::-1])


def test_every_measure_says_what_it_is() -> None:
    for name, one in MEASURES.items():
        assert isinstance(one, Question)
        assert one.name == name
        assert one.summary
        assert one.paper
        assert one.kind in ("layers", "gradients", "maps")


@pytest.mark.parametrize("chosen", [None, [[1.0, 0, 1, 0], [0, 0, 0, 0]]])
def test_a_mean_is_over_real_or_chosen_queries(chosen: Any) -> None:
    class Queries:
        real = torch.tensor([[1.0, 1, 1, 0], [1, 0, 0, 0]])

    values = torch.tensor([[[1.0, 2, 6, float("nan")]], [[5, float("nan"), float("inf"), 7]]])
    over = None if chosen is None else torch.tensor(chosen)
    found = Seen(None, Queries(), None, ()).mean(values, over)  # type: ignore[arg-type]
    expected = [[3.0], [5.0]] if chosen is None else [[3.5], [float("nan")]]
    np.testing.assert_allclose(found, expected)
