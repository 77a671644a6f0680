from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.measures.measure import measure
from tests.measures import naive
from tests.measures.cases import UNIFORM, Texts, at, others, small
from tests.measures.planted import PAIRS, ROLES, SENTENCES

KINDS = ("cls", "sep", "punctuation", "other")


def test_is_the_formula(texts: Texts) -> None:
    texts.compare("special", naive.special)


def test_the_kinds_are_all_tokens(texts: Texts) -> None:
    found = texts.measured("special")["special"]
    np.testing.assert_allclose(sum(found[f"values_{name}"].values for name in KINDS), 1, atol=1e-5)


@pytest.fixture(scope="module")
def found(planted_texts: Texts) -> xr.Dataset:
    return planted_texts.measured("special")["special"].to_dataset()


@pytest.mark.parametrize(("role", "variable"), [("separator", "sep"), ("first", "cls"), ("first", "first")])
def test_finds_the_planted_head(found: xr.Dataset, role: str, variable: str) -> None:
    assert at(found[variable], ROLES[role]) > 0.999
    assert others(found[variable], ROLES[role]).max() < 0.25


def test_finds_the_head_for_full_stops_and_commas(found: xr.Dataset) -> None:
    values = found.values_punctuation
    for row, text in enumerate(SENTENCES):
        has = "." in text or "," in text
        assert at(values.sel(example=row), ROLES["full stop"]) > 0.999 if has else True
        assert others(values.sel(example=row), ROLES["full stop"]).max() < (0.3 if has else 1e-9)


@pytest.mark.parametrize("name", ["sep_from_sep", "sep_from_other"])
def test_separators_are_seen_from_everywhere(found: xr.Dataset, name: str) -> None:
    assert at(found[name], ROLES["separator"]) > 0.999


def test_attention_from_separators_alone(found: xr.Dataset) -> None:
    """The head that looks at itself looks at [SEP] from [SEP], and from nowhere else."""
    assert at(found.sep_from_sep, ROLES["same"]) > 0.999
    assert at(found.sep_from_other, ROLES["same"]) < 0.001


def test_uniform_heads_give_each_kind_its_share_of_the_tokens(planted_pairs: Texts) -> None:
    found = planted_pairs.measured("special")["special"]
    for row in range(len(PAIRS)):
        tokens = planted_pairs.seen(row).tokens
        shares = {"first": 1, "cls": 1, "sep": 2, "punctuation": tokens.count(".") + tokens.count(",")}
        for place in UNIFORM:
            for name, count in shares.items():
                given = at(found[f"values_{name}"].sel(example=row), place)
                assert given == pytest.approx(count / len(tokens), abs=1e-6)


def test_a_word_that_the_vocabulary_lacks_is_a_word(planted_model: Any) -> None:
    found = measure(*planted_model, pd.DataFrame({"text": ["the zebra ran"]}), only="special")["special"]
    assert at(found.other, ROLES["uniform"]) == pytest.approx(3 / 5)


def test_a_text_of_words_that_the_vocabulary_lacks(planted_model: Any) -> None:
    found = measure(*planted_model, pd.DataFrame({"text": ["Zebras zigzag"]}), only="special")["special"]
    assert at(found.other, ROLES["uniform"]) == pytest.approx(2 / 4)


@pytest.fixture(scope="module")
def translated(planted_model: Any) -> Any:
    """A small model that reads one text and writes the other, its results, and its maps of each row alone."""
    model, tokenizer = small("BartForConditionalGeneration", "bart", decoder_start_token_id=3), planted_model[1]
    found = measure(model, tokenizer, pd.DataFrame(PAIRS, columns=["source", "target"]), only="special")["special"]
    seen = []
    for source, target in PAIRS:
        inputs, aim = tokenizer(source, return_tensors="pt"), tokenizer(text_target=target)["input_ids"]
        read = torch.tensor([[3, *aim[:-1]]])  # the decoder reads what it has written so far, from the start token on
        maps = hc.observe(model, dict(inputs) | {"decoder_input_ids": read}, outputs=False).maps
        seen.append((inputs["input_ids"][0].tolist(), read[0].tolist(), maps))
    return found, tokenizer, seen


def marked(tokenizer: Any, ids: list[int], maps: Any) -> naive.Text:
    tokens = tokenizer.convert_ids_to_tokens(ids)
    return naive.Text({}, tokens, [0] * len(ids), [], None, maps[:, :, 0].double().numpy(), np.zeros(0))


def test_translations_in_the_encoder(translated: Any) -> None:
    found, tokenizer, seen = translated
    for row, (source, _, maps) in enumerate(seen):
        for name, values in naive.special(marked(tokenizer, source, maps["encoder"])).items():
            given = found[f"values_{name}"].sel(example=row, stack="encoder").values
            np.testing.assert_allclose(given, values, atol=1e-5, err_msg=name)


def test_translations_in_the_cross_attention(translated: Any) -> None:
    found, tokenizer, seen = translated
    for row, (source, _, maps) in enumerate(seen):
        keys = marked(tokenizer, source, maps["cross"])
        queries = range(maps["cross"].shape[3])
        for name, places in {"cls": keys.at("[CLS]"), "sep": keys.at("[SEP]"), "first": [0]}.items():
            values = naive.mean([naive.mass(keys.maps, query, places) for query in queries], keys.maps)
            given = found[f"values_{name}"].sel(example=row, stack="cross").values
            np.testing.assert_allclose(given, values, atol=1e-5, err_msg=name)


def test_translations_in_the_decoder(translated: Any) -> None:
    found, tokenizer, seen = translated
    for row, (_, read, maps) in enumerate(seen):
        for name, values in naive.special(marked(tokenizer, read, maps["decoder"])).items():
            given = found[f"values_{name}"].sel(example=row, stack="decoder").values
            np.testing.assert_allclose(given, values, atol=1e-5, err_msg=name)
