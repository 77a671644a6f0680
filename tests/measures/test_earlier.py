"""Both questions about earlier occurrences: parity with the formula in every kind of model, and what has no answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import headcount as hc
from headcount.data.marks import mark
from headcount.measures.catalogue import choose_measures
from headcount.measures.layers import run_measures
from headcount.measures.measure import measure
from tests.contracts.zoo import LAYERS, Case
from tests.measures import naive
from tests.measures.planted_decoder import planted_decoder
from tests.measures.test_families import CLASSES, EVERY, Batch, facts
from tests.measures.tiny import causal, translator

FORMULAS = {"induction": naive.induction, "duplicate": naive.duplicate}
TEXTS = [
    "the dog saw the cat , and the dog saw the cat .",
    "the the the dog",
    "a dog is not a cat , a cat is not a dog , a dog is a dog .",
    "she slept .",
]


@pytest.mark.parametrize(("case", "kernel"), EVERY)
def test_every_family_and_kernel(case: Case, kernel: str) -> None:
    """Few tokens, so that most are repeated; one of them is special."""
    batch = Batch(case, kernel)
    known = [
        replace(facts(length), token=[-1 if place == 3 else 7 + place * place % 3 for place in range(length)])
        for length in batch.lengths
    ]
    target = None
    if case.kind == "pair":
        width = batch.batch["decoder_input_ids"].shape[1]
        target = replace(facts(width), token=[7 + place % 2 for place in range(width)])
    found = run_measures(
        batch.model,
        batch.anatomy,
        batch.batch,
        mark(known),
        None if target is None else mark([target] * len(known)),
        CLASSES,
        choose_measures(FORMULAS),
    )
    answered = 0
    for row, stack, maps, _ in batch.rows():
        tokens = known[row].token if stack == "encoder" or target is None else target.token
        for name, formula in FORMULAS.items():
            if stack == "cross":
                values = [found[name][stack, layer].values() for layer in range(LAYERS)]
                assert all(torch.isnan(value).all() for layer in values for value in layer)
                continue
            expected = formula(maps, tokens)
            batch.compare(found[name], row, stack, expected)
            answered += np.isfinite(expected["gain"]).all()
    assert answered > 2


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("make", [causal, planted_decoder])
def test_texts_of_a_decoder(name: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a padded batch, few entries at a time."""
    monkeypatch.setattr("headcount.trace.view.ENTRIES", 12)
    model, tokenizer = make()
    texts = TEXTS if make is causal else ["a b c d a b c d", "a a a b", "a b . c a b . a b .", "a b"]
    found = measure(model, tokenizer, pd.DataFrame({"text": texts}), only=name)[name]
    special = set(tokenizer.all_special_ids)
    for row, text in enumerate(texts):
        encoded = tokenizer(text, return_tensors="pt")
        maps = hc.observe(model, encoded).maps["decoder"][:, :, 0].double().numpy()
        tokens = [-1 if token in special else token for token in encoded["input_ids"][0].tolist()]
        for variable, expected in FORMULAS[name](maps, tokens).items():
            given = found[f"values_{variable}"].sel(example=row, stack="decoder").values
            np.testing.assert_allclose(given, expected, atol=1e-6)
            assert np.isfinite(given).all() or row in (1, 3)


@pytest.mark.parametrize("name", FORMULAS)
def test_without_a_repeated_token_there_is_no_number(name: str) -> None:
    found = measure(*planted_decoder(), pd.DataFrame({"text": ["a b c d", "e f", "g"]}), only=name)[name]
    for variable in ("attention", "control", "gain", "gain_low", "gain_high"):
        assert found[variable].isnull().all()


@pytest.mark.parametrize("name", FORMULAS)
def test_cross_attention_has_none(name: str) -> None:
    data = pd.DataFrame({"source": TEXTS[:3], "target": TEXTS[:3]})
    found = measure(*translator(), data, only=name)[name].gain
    assert found.sel(stack="cross").isnull().all()
    for stack, heads in (("encoder", 4), ("decoder", 2)):
        assert found.sel(stack=stack, layer=[0, 1]).isel(head=slice(heads)).notnull().all()
