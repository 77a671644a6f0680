from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transformers as tf
import xarray as xr

from headcount.errors import InvalidOption
from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.cases import TREES, UNIFORM, Texts, at, others, small
from tests.measures.planted import NOUNS, ROLES


def test_is_the_formula(texts: Texts) -> None:
    found = texts.compare("features", naive.features)
    known = naive.FEATURES if texts.seen(int(found.example[0])).sentence else ("cls", "sep", "punctuation")
    assert tuple(found.feature.values) == known


@pytest.fixture(scope="module")
def found(planted_sentences: Texts) -> xr.Dataset:
    return planted_sentences.measured("features")["features"].to_dataset()


def test_finds_the_head_for_nouns(found: xr.Dataset, planted_sentences: Texts) -> None:
    """It looks at all nouns of a text alike: the largest share of one is what they have to divide."""
    seen = 0
    for row in range(len(TREES)):
        count = sum(token in NOUNS for token in planted_sentences.seen(row).tokens)
        for name in ("attention", "from_first"):
            values = found[f"values_{name}"].sel(example=row, feature="noun")
            if count:
                assert at(values, ROLES["noun"]) == pytest.approx(1 / count, abs=1e-3)
                seen += 1
            else:
                assert np.isnan(values).all()
    assert seen == 8
    assert others(found.attention.sel(feature="noun"), ROLES["noun"]).max() < 0.2


def test_texts_without_the_feature_are_left_out(found: xr.Dataset) -> None:
    """Four of the texts have nouns, of two, two, two and three kinds."""
    assert at(found.attention.sel(feature="noun"), ROLES["noun"]) == pytest.approx((3 / 2 + 1 / 3) / 4, abs=1e-3)
    known = found.values_attention.sel(stack="encoder", layer=0, head=0).notnull().sum("example")
    assert known.to_series().to_dict() == {
        "noun": 4,
        "verb": 5,
        "pronoun": 4,
        "subject": 6,
        "object": 4,
        "negation": 2,
        "cls": 6,
        "sep": 6,
        "punctuation": 5,
    }


@pytest.mark.parametrize(("role", "feature"), [("separator", "sep"), ("first", "cls")])
def test_finds_the_heads_for_special_tokens(found: xr.Dataset, role: str, feature: str) -> None:
    for name in ("attention", "from_first"):
        assert at(found[name].sel(feature=feature), ROLES[role]) > 0.999
    assert others(found.attention.sel(feature=feature), ROLES[role]).max() < 0.35


def test_finds_the_head_for_full_stops(found: xr.Dataset, planted_sentences: Texts) -> None:
    """Full stops and commas share all of its weight, whichever token looks; a text without any is left out."""
    for row in range(len(TREES)):
        marks = sum(token in (".", ",") for token in planted_sentences.seen(row).tokens)
        for name in ("attention", "from_first"):
            given = at(found[f"values_{name}"].sel(example=row, feature="punctuation"), ROLES["full stop"])
            assert given == pytest.approx(1 / marks, abs=1e-3) if marks else np.isnan(given)
    assert others(found.attention.sel(feature="punctuation"), ROLES["full stop"]).max() < 0.35


def test_two_separators_divide_the_attention(planted_pairs: Texts) -> None:
    found = planted_pairs.measured("features")["features"]
    assert at(found.attention.sel(feature="sep"), ROLES["separator"]) == pytest.approx(0.5, abs=1e-3)


def test_uniform_heads_give_each_token_one_share(found: xr.Dataset, planted_sentences: Texts) -> None:
    for row in range(len(TREES)):
        length = len(planted_sentences.seen(row))
        for name in ("attention", "from_first"):
            for place in UNIFORM:
                given = at(found[f"values_{name}"].sel(example=row), place)
                np.testing.assert_allclose(given[~np.isnan(given)], 1 / length, atol=1e-6)


def test_a_model_without_special_tokens_has_word_classes_alone(planted_model: Any, planted_sentences: Texts) -> None:
    model = small("GPT2LMHeadModel", "gpt2")
    bare = tf.PreTrainedTokenizerFast(
        tokenizer_object=planted_model[1].backend_tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    )
    found = measure(model, bare, planted_sentences.data, only="features")["features"]
    assert tuple(found.feature.values) == naive.FEATURES[:6]
    with pytest.raises(InvalidOption, match="no \\[CLS\\]"):
        measure(model, bare, planted_sentences.data[["tokens"]].map(" ".join), text=("tokens",), only="features")
