from __future__ import annotations

import pytest
import xarray as xr

from headcount.errors import InvalidOption
from tests.measures import naive
from tests.measures.cases import UNIFORM, Texts, at, others
from tests.measures.planted import PAIRS, ROLES


@pytest.mark.parametrize("name", ["bundled_pairs", "planted_pairs"])
def test_is_the_formula(name: str, request: pytest.FixtureRequest) -> None:
    texts = request.getfixturevalue(name)
    found = texts.compare("repeated", naive.repeated)
    assert found.values_attention.notnull().any()


@pytest.fixture(scope="module")
def found(planted_pairs: Texts) -> xr.Dataset:
    return planted_pairs.measured("repeated")["repeated"].to_dataset()


def test_finds_the_planted_head(found: xr.Dataset, planted_pairs: Texts) -> None:
    """It looks at all tokens that are the same word, in both texts."""
    for row in range(len(PAIRS)):
        one, other = (planted_pairs.tokenizer.tokenize(text) for text in PAIRS[row])
        expected = [
            there.count(word) / (here.count(word) + there.count(word))
            for here, there in ((one, other), (other, one))
            for word in here
            if word in there and word not in (".", ",")
        ]
        values = found.sel(example=row)
        head = ROLES["repeated word"]
        assert at(values.values_attention, head) == pytest.approx(sum(expected) / len(expected), abs=1e-3)
        assert at(values.values_control, head) < 1e-3
    assert at(found.gain, ROLES["repeated word"]) > 0.45
    assert others(found.gain, ROLES["repeated word"]).max() < 0.1


def test_uniform_heads_gain_nothing(found: xr.Dataset) -> None:
    for place in UNIFORM:
        assert at(found.attention, place) == pytest.approx(at(found.control, place), abs=1e-6)
        assert at(found.gain, place) == pytest.approx(0, abs=1e-6)
        assert at(found.attention, place) > 0.03


def test_single_texts_have_no_other(planted_texts: Texts) -> None:
    with pytest.raises(InvalidOption, match="no pairs"):
        planted_texts.measured("repeated")
