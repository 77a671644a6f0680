from __future__ import annotations

import pytest
import xarray as xr

from headcount.errors import InvalidOption
from tests.measures import naive
from tests.measures.cases import UNIFORM, Texts, at
from tests.measures.planted import PAIRS, ROLES


@pytest.mark.parametrize("name", ["bundled_pairs", "planted_pairs"])
def test_is_the_formula(name: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(name).compare("sentences", naive.sentences)


@pytest.fixture(scope="module")
def found(planted_pairs: Texts) -> xr.Dataset:
    return planted_pairs.measured("sentences")["sentences"].to_dataset()


def lengths(texts: Texts, row: int) -> tuple[int, int]:
    """The tokens of both texts, [CLS] and [SEP] aside."""
    one, other = texts.rows[row]
    return len(texts.tokenizer.tokenize(one)), len(texts.tokenizer.tokenize(other))


def test_finds_the_planted_head(found: xr.Dataset, planted_pairs: Texts) -> None:
    """Its attention to [CLS] and [SEP], which have the type of one of the texts, counts for neither."""
    for row in range(len(PAIRS)):
        one, other = lengths(planted_pairs, row)
        own = (one * one / (one + 2) + other * other / (other + 1)) / (one + other)
        assert at(found.values_own.sel(example=row), ROLES["own sentence"]) == pytest.approx(own, abs=1e-3)
    assert at(found.across, ROLES["own sentence"]) < 1e-3


def test_uniform_heads_give_each_text_its_share_of_the_tokens(found: xr.Dataset, planted_pairs: Texts) -> None:
    for row in range(len(PAIRS)):
        one, other = lengths(planted_pairs, row)
        length = one + other + 3
        for place in UNIFORM:
            own = at(found.values_own.sel(example=row), place)
            across = at(found.values_across.sel(example=row), place)
            assert own == pytest.approx((one * one + other * other) / (one + other) / length, abs=1e-6)
            assert across == pytest.approx(2 * one * other / (one + other) / length, abs=1e-6)


def test_heads_that_look_at_special_tokens_look_at_no_text(found: xr.Dataset) -> None:
    for role in ("first", "separator"):
        assert at(found.own, ROLES[role]) < 1e-3
        assert at(found.across, ROLES[role]) < 1e-3


def test_only_the_head_that_looks_for_its_own_text_is_far_from_both(found: xr.Dataset) -> None:
    """Of the heads that look far, it alone does not look across."""
    for role in ("uniform", "noun", "full stop"):
        assert at(found.across, ROLES[role]) > 0.2


def test_single_texts_have_no_other(planted_texts: Texts) -> None:
    with pytest.raises(InvalidOption, match="no pairs"):
        planted_texts.measured("sentences")
