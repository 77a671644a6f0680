from __future__ import annotations

from math import log

import numpy as np
import pytest
import xarray as xr

import headcount as hc
from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.cases import UNIFORM, Texts, at, others
from tests.measures.planted import PAIRS, ROLES, SENTENCES, planted_attention


@pytest.mark.parametrize("beside", ["", "position"], ids=["alone", "with a map"])
def test_is_the_formula(texts: Texts, beside: str) -> None:
    texts.compare("entropy", lambda text: naive.entropy(text.maps), beside=beside)


@pytest.fixture(scope="module")
def found(planted_texts: Texts) -> xr.Dataset:
    return planted_texts.measured("entropy")["entropy"].to_dataset()


def test_uniform_heads_have_the_largest_entropy(found: xr.Dataset, planted_texts: Texts) -> None:
    for row in range(len(SENTENCES)):
        most = log(len(planted_texts.seen(row)))
        for place in UNIFORM:
            for name in ("entropy", "from_first", "uniform"):
                assert at(found[f"values_{name}"].sel(example=row), place) == pytest.approx(most, abs=1e-5)
        assert (found.values_uniform.sel(example=row).values == pytest.approx(most)) is True


def test_broad_heads_are_the_uniform_ones(found: xr.Dataset) -> None:
    broad = [*UNIFORM, ROLES["own sentence"]]  # there is but one sentence
    assert all(at(found.broad, place) == 1 for place in broad)
    assert all(at(found.share_of_uniform, place) == pytest.approx(1, abs=1e-5) for place in broad)
    assert others(found.broad, *broad).max() == 0
    assert others(found.share_of_uniform, *broad).max() < 0.6


@pytest.mark.parametrize("role", ["same", "first", "separator"])
def test_heads_that_look_at_one_token_have_none(found: xr.Dataset, role: str) -> None:
    assert at(found.entropy, ROLES[role]) < 0.02
    assert at(found.from_first, ROLES[role]) < 0.02


def test_two_separators_are_one_bit(planted_pairs: Texts) -> None:
    found = planted_pairs.measured("entropy")["entropy"]
    assert at(found.entropy, ROLES["separator"]) == pytest.approx(log(2), abs=0.02)


def test_the_first_token_alone(found: xr.Dataset, planted_texts: Texts) -> None:
    """No token stands before it: there alone the head for the previous one looks everywhere."""
    for row in range(len(SENTENCES)):
        length = len(planted_texts.seen(row))
        assert at(found.values_from_first.sel(example=row), ROLES["previous"]) == pytest.approx(log(length), abs=1e-4)
        expected = log(length) / length
        assert at(found.values_entropy.sel(example=row), ROLES["previous"]) == pytest.approx(expected, abs=0.02)


def test_of_pairs(planted_pairs: Texts) -> None:
    found = planted_pairs.measured("entropy")["entropy"]
    most = np.mean([log(len(planted_pairs.seen(row))) for row in range(len(PAIRS))])
    assert at(found.uniform, ROLES["uniform"]) == pytest.approx(most, abs=1e-5)
    assert at(found.broad, ROLES["own sentence"]) == (at(found.entropy, ROLES["own sentence"]) >= 0.8 * most)


@pytest.mark.parametrize("names", ["entropy", "entropy,position"])
def test_sees_what_a_surrounding_context_makes_of_the_map(planted_texts: Texts, names: str) -> None:
    model, tokenizer = planted_attention()
    with hc.ablated(model, ROLES["same"], how="uniform"):
        found = measure(model, tokenizer, planted_texts.data, only=names)["entropy"]
    assert at(found.share_of_uniform, ROLES["same"]) == pytest.approx(1, abs=1e-5)
    assert at(found.share_of_uniform, ROLES["first"]) < 0.02
