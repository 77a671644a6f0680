"""What is measured on what: options that cannot be, what can be asked of some texts, models that were changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import headcount as hc
from headcount.data.kinds.catalogue import KINDS
from headcount.errors import InvalidOption
from headcount.measures.compare import compare
from headcount.measures.measure import measure
from headcount.measures.measurement import CPU_TOKENS, prepare_measurement
from tests.measures.planted import PAIRS, SENTENCES
from tests.measures.tiny import causal, masked, translator

TEXTS = pd.DataFrame({"text": SENTENCES})
BOTH = pd.DataFrame({"source": SENTENCES[:5], "target": SENTENCES[5:]})


@pytest.fixture(scope="module")
def bert() -> Any:
    return masked()


@pytest.mark.parametrize("option", ["limit", "batch_tokens", "max_length"])
@pytest.mark.parametrize("number", [0, -1, -100])
def test_options_below_1(bert: Any, tmp_path: Path, option: str, number: int) -> None:
    given: dict[str, Any] = {option: number}
    if option == "batch_tokens":
        given = {"compute": hc.Compute(batch_tokens=number)}
    for out in (None, tmp_path / "study"):
        with pytest.raises(InvalidOption) as error:
            prepare_measurement(*bert, TEXTS, **given, out=out)
        least = 8 if option == "max_length" else 1
        assert str(error.value) == f"got {option}={number}; expected at least {least}"
    assert not (tmp_path / "study").exists()


def test_options_of_1(bert: Any) -> None:
    task = prepare_measurement(*bert, TEXTS, limit=1, compute=hc.Compute(batch_tokens=1), max_length=8)
    assert (len(task.inputs.ids), task.tokens, task.inputs.limit) == (1, 1, 8)
    assert len(prepare_measurement(*bert, TEXTS, limit=1000).inputs.ids) == 10


def test_what_can_be_asked(bert: Any) -> None:
    model, tokenizer = bert
    setting = prepare_measurement(model, tokenizer, TEXTS).setting
    assert (setting.pairs, setting.annotated, setting.language) == (False, False, KINDS["masked-lm"])
    assert (setting.layers, setting.width) == ({"encoder": 2}, 4)
    assert {"cls", "sep"} <= set(setting.classes)
    assert prepare_measurement(model.bert, tokenizer, TEXTS).setting.language is None
    pairs = pd.DataFrame(PAIRS, columns=["one", "two"])
    assert prepare_measurement(model, tokenizer, pairs, text=("one", "two")).setting.pairs
    assert not prepare_measurement(model, tokenizer, pairs, text="two").setting.pairs
    assert prepare_measurement(model, tokenizer, pairs, text="two").inputs.texts == [second for _, second in PAIRS]
    assert prepare_measurement(*causal(), TEXTS).setting.language is KINDS["causal-lm"]
    both = prepare_measurement(*translator(), BOTH).setting
    assert (both.layers, both.width) == ({"encoder": 3, "decoder": 2, "cross": 2}, 4)


def test_without_a_mask_token_nothing_can_be_masked() -> None:
    model, tokenizer = masked()
    tokenizer.mask_token = None
    assert prepare_measurement(model, tokenizer, TEXTS).setting.language is None


def test_tokens_of_a_batch_by_default(bert: Any) -> None:
    assert prepare_measurement(*bert, TEXTS).tokens == CPU_TOKENS
    assert prepare_measurement(*bert, TEXTS, compute=hc.Compute(batch_tokens=77)).tokens == 77


@pytest.mark.parametrize("context", ["ablated", "gated"])
@pytest.mark.parametrize("verb", ["prepare", "measure", "compare"])
def test_a_changed_model_goes_into_no_study(bert: Any, tmp_path: Path, context: str, verb: str) -> None:
    model, tokenizer = bert
    entered = hc.ablated(model, "L0H1") if context == "ablated" else hc.gated(model, torch.ones(2, 4))
    with entered:
        with pytest.raises(InvalidOption, match="inside ablated or gated") as error:
            if verb == "prepare":
                prepare_measurement(model, tokenizer, TEXTS, out=tmp_path / "study")
            elif verb == "measure":
                measure(model, tokenizer, TEXTS, only="entropy", out=tmp_path / "study")
            else:
                compare(model, model, tokenizer, TEXTS, out=tmp_path / "study")
        assert "\n" not in str(error.value)
        prepare_measurement(model, tokenizer, TEXTS)
    assert not (tmp_path / "study").exists()
    assert prepare_measurement(model, tokenizer, TEXTS, out=tmp_path / "study").out == tmp_path / "study"
