from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.cases import UNIFORM, Texts, at
from tests.measures.planted import HEADS, PAIRS, ROLES, SENTENCES, SIZE, WORDS

NAMES = ["output_norm", "written", "share", "near_zero", "sep_value"]


@pytest.mark.parametrize("name", ["bundled_sentences", "bundled_pairs", "loud_texts", "loud_pairs"])
def test_is_the_formula(name: str, request: pytest.FixtureRequest) -> None:
    texts = request.getfixturevalue(name)
    found = texts.compare("contribution", lambda text: naive.contribution(texts.model, text))
    np.testing.assert_allclose(found.values_share.sum("head"), 1, atol=1e-4)


def test_lengths_are_not_so_small_that_all_would_agree(bundled_pairs: Texts) -> None:
    found = bundled_pairs.measured("contribution")["contribution"]
    for name in ("output_norm", "written", "sep_value"):
        assert found[name].min() > 1e-3
    assert found.near_zero.max() > 1e-3


def test_of_heads_that_write_nothing(planted_texts: Texts) -> None:
    found = planted_texts.measured("contribution")["contribution"]
    assert (found.written == 0).all()
    assert (found.output_norm > 0.01).all()
    assert found.share.isnull().all()


def columns(place: str) -> slice:
    head = int(place.split("H")[1])
    return slice(head * SIZE, (head + 1) * SIZE)


def measured(model: Any, tokenizer: Any, texts: Any = SENTENCES) -> Any:
    data = pd.DataFrame(texts, columns=["text"] if isinstance(texts[0], str) else ["sentence1", "sentence2"])
    return measure(model, tokenizer, data, only="contribution")["contribution"]


def test_one_head_writes_all(planted_model: Any) -> None:
    model, place = copy.deepcopy(planted_model[0]), ROLES["noun"]
    with torch.no_grad():
        model.bert.encoder.layer[0].attention.output.dense.weight[:, columns(place)] = torch.eye(HEADS * SIZE, SIZE)
    found = measured(model, planted_model[1])
    assert at(found.share, place) == pytest.approx(1, abs=1e-5)
    assert at(found.written, place) == pytest.approx(at(found.output_norm, place), rel=1e-5)
    assert at(found.written, place) > 0.01
    quiet = [f"L0H{head}" for head in range(HEADS) if f"L0H{head}" != place]
    assert all(at(found.written, other) == 0 and at(found.share, other) == 0 for other in quiet)


def test_a_head_that_works_against_another_has_a_negative_share(planted_model: Any) -> None:
    """Two heads with the same attention and values; the second takes half of what the first gives."""
    model = copy.deepcopy(planted_model[0])
    layer = model.bert.encoder.layer[0].attention
    one, other = (place for place in UNIFORM[:2])
    assert one[:2] == other[:2] == "L0"
    with torch.no_grad():
        layer.self.value.weight[columns(other)] = layer.self.value.weight[columns(one)]
        layer.output.dense.weight[:, columns(one)] = torch.eye(HEADS * SIZE, SIZE)
        layer.output.dense.weight[:, columns(other)] = -torch.eye(HEADS * SIZE, SIZE) / 2
    found = measured(model, planted_model[1])
    assert at(found.share, one) == pytest.approx(2, abs=1e-4)
    assert at(found.share, other) == pytest.approx(-1, abs=1e-4)


@pytest.fixture(scope="module")
def empty_separators(planted_model: Any) -> Any:
    """A planted model in which [SEP] has nothing to read: values are random vectors of the words, but for [SEP]."""
    model = copy.deepcopy(planted_model[0])
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            weight = torch.zeros(HEADS * SIZE, HEADS * SIZE)
            weight[:, SIZE : SIZE + len(WORDS)] = torch.randn(HEADS * SIZE, len(WORDS), generator=generator)
            weight[:, SIZE + WORDS.index("[SEP]")] = 0
            layer.attention.self.value.weight.copy_(weight)
            layer.attention.self.value.bias.zero_()
    return model, planted_model[1]


@pytest.mark.parametrize("texts", [SENTENCES, PAIRS], ids=["texts", "pairs"])
def test_attention_where_there_is_nothing_to_read(empty_separators: Any, texts: Any) -> None:
    found = measured(*empty_separators, texts)
    assert at(found.near_zero, ROLES["separator"]) > 0.999
    assert (found.sep_value < 1e-3).all()
    for role in ("first", "own sentence", "noun"):
        assert at(found.near_zero, ROLES[role]) < 0.5
    for row, text in enumerate(texts):
        tokens = empty_separators[1](*([text] if isinstance(text, str) else text)).tokens()
        share = tokens.count("[SEP]") / len(tokens)
        assert at(found.values_near_zero.sel(example=row), ROLES["uniform"]) == pytest.approx(share, abs=1e-5)
        assert at(found.values_near_zero.sel(example=row), ROLES["first"]) < 1e-3


def test_separators_with_values_like_the_others(planted_model: Any) -> None:
    """Every value has length 1: none is near zero."""
    model = copy.deepcopy(planted_model[0])
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            layer.attention.self.value.weight.zero_()
            layer.attention.self.value.bias.fill_(SIZE**-0.5)
    found = measured(model, planted_model[1])
    np.testing.assert_allclose(found.sep_value, 1, atol=1e-5)
    assert (found.near_zero == 0).all()
    np.testing.assert_allclose(found.output_norm, 1, atol=1e-4)


@pytest.mark.parametrize("how", ["in place", "in data", "anew"])
def test_new_weights_are_seen(loud_model: Any, how: str, request: pytest.FixtureRequest) -> None:
    model = copy.deepcopy(loud_model[0])
    output = model.bert.encoder.layer[1].attention.output.dense
    before = measured(model, loud_model[1], SENTENCES[:2])
    if how == "in place":
        with torch.no_grad():
            output.weight.mul_(3)
    elif how == "in data":
        output.weight.data.mul_(3)
    else:
        output.weight = nn.Parameter(3 * output.weight.detach())
    after = measured(model, loud_model[1], SENTENCES[:2])
    np.testing.assert_allclose(after.written.sel(layer=1), 3 * before.written.sel(layer=1), rtol=1e-4)
