"""Models and texts that every measure is held to its formula on; loaded once, never changed by a test."""

from __future__ import annotations

import copy
import json
from typing import Any

import pandas as pd
import pytest
import torch

import headcount as hc
from tests.measures import naive
from tests.measures.cases import TREES, Texts, sentence, table
from tests.measures.planted import PAIRS, SENTENCES, planted_attention

LIMIT = 6


@pytest.fixture(scope="session")
def bundled() -> Any:
    model, tokenizer = hc.load(hc.bundled("pretrained"))
    return model.double(), tokenizer


@pytest.fixture(scope="session")
def bundled_sentences(bundled: Any) -> Texts:
    return Texts(*bundled, hc.bundled_sentences(), naive.read_conllu(hc.bundled_sentences()), LIMIT)


@pytest.fixture(scope="session")
def bundled_pairs(bundled: Any) -> Texts:
    lines = [json.loads(line) for line in hc.bundled_pairs().read_text(encoding="utf-8").splitlines()]
    return Texts(*bundled, hc.bundled_pairs(), [(line["question"], line["sentence"]) for line in lines], LIMIT)


@pytest.fixture(scope="session")
def planted_model() -> Any:
    model, tokenizer = planted_attention()
    return model.double(), tokenizer


@pytest.fixture(scope="session")
def planted_texts(planted_model: Any) -> Texts:
    return Texts(*planted_model, pd.DataFrame({"text": SENTENCES}), SENTENCES)


@pytest.fixture(scope="session")
def planted_pairs(planted_model: Any) -> Texts:
    return Texts(*planted_model, pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"]), PAIRS)


@pytest.fixture(scope="session")
def planted_sentences(planted_model: Any) -> Texts:
    sentences = [sentence(one) for one in TREES]
    return Texts(*planted_model, table(sentences), sentences)


@pytest.fixture(scope="session")
def loud_model(planted_model: Any) -> Any:
    """The planted model, whose heads now write something: layer 1 no longer attends as planned."""
    model, tokenizer = copy.deepcopy(planted_model[0]), planted_model[1]
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            layer.attention.output.dense.weight.normal_(0, 0.05, generator=generator)
    return model, tokenizer


@pytest.fixture(scope="session")
def loud_texts(loud_model: Any) -> Texts:
    return Texts(*loud_model, pd.DataFrame({"text": SENTENCES}), SENTENCES)


@pytest.fixture(scope="session")
def loud_pairs(loud_model: Any) -> Texts:
    return Texts(*loud_model, pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"]), PAIRS)


@pytest.fixture(params=["bundled_sentences", "bundled_pairs", "planted_texts", "planted_pairs", "planted_sentences"])
def texts(request: pytest.FixtureRequest) -> Texts:
    """Each of them in turn."""
    found: Texts = request.getfixturevalue(request.param)
    return found
