"""Logits later: exactly the model's own, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf

from headcount.data.kinds.catalogue import KINDS
from headcount.data.kinds.outputs import logits_of
from headcount.data.kinds.tokens import IGNORED
from headcount.trace.late_logits import find_late_logits

SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 32,
}
IDS = torch.tensor([[1, 5, 7, 9, 30], [2, 6, 6, 8, 4]])


def _model(config: Any, auto: Any = tf.AutoModelForCausalLM) -> Any:
    torch.manual_seed(0)
    return auto.from_config(config).eval()


def _llama(**more: Any) -> Any:
    return _model(tf.LlamaConfig(**SIZES, **more))


@pytest.mark.parametrize("tied", [False, True])
def test_a_llama(tied: bool) -> None:
    model = _llama(tie_word_embeddings=tied)
    late = find_late_logits(model, {"input_ids": IDS[:1, :3]})
    assert late is not None
    whole = model(input_ids=IDS).logits
    with late.postponed():
        states = model(input_ids=IDS).logits
    assert states.shape == (2, 5, 16)
    torch.testing.assert_close(late.project(states), whole)
    torch.testing.assert_close(model(input_ids=IDS).logits, whole), "the projection is back"


def test_a_masked_model_with_a_bias() -> None:
    config = tf.BertConfig(
        **{key: value for key, value in SIZES.items() if key not in ("num_key_value_heads", "head_dim")}
    )
    model = _model(config, tf.AutoModelForMaskedLM)
    with torch.no_grad():
        model.cls.predictions.decoder.bias.normal_()
    late = find_late_logits(model, {"input_ids": IDS})
    assert late is not None
    with late.postponed():
        states = model(input_ids=IDS).logits
    torch.testing.assert_close(late.project(states), model(input_ids=IDS).logits)


def test_what_is_done_to_logits_afterwards_is_noticed() -> None:
    """Gemma 2 caps its logits: the states alone do not say what these become."""
    assert find_late_logits(_model(tf.Gemma2Config(**SIZES, final_logit_softcapping=0.5)), {"input_ids": IDS}) is None


def test_scaled_states_have_scaled_logits() -> None:
    """Granite scales its logits, and its states where they stand for them: the product is the same."""
    model = _model(tf.GraniteConfig(**SIZES, logits_scaling=4.0))
    late = find_late_logits(model, {"input_ids": IDS})
    assert late is not None
    with late.postponed():
        states = model(input_ids=IDS).logits
    torch.testing.assert_close(late.project(states), model(input_ids=IDS).logits)


def test_a_classifier_has_none() -> None:
    model = _model(tf.LlamaConfig(**SIZES, num_labels=3, pad_token_id=0), tf.AutoModelForSequenceClassification)
    assert find_late_logits(model, {"input_ids": IDS}) is None


@pytest.mark.parametrize("kind", ["causal-lm", "completion", "masked-lm"])
def test_the_same_numbers_as_with_all_logits(kind: str) -> None:
    """Losses, tokens and correct tokens of each text, with labels that are ignored here and there."""
    model = _llama().double()
    late = find_late_logits(model, {"input_ids": IDS})
    assert late is not None
    labels = IDS.clone()
    labels[0, :3] = IGNORED
    task = KINDS[kind]
    shapes = task.output_shapes(model, [])
    result = model(input_ids=IDS)
    with late.postponed():
        states = logits_of(model(input_ids=IDS))
    expected, reduced = task.reduce(result, labels, shapes), task.reduce_late(states, late.project, labels)  # type: ignore[attr-defined]
    assert set(reduced) == set(expected)
    for name in expected:
        torch.testing.assert_close(reduced[name], expected[name].to(reduced[name].dtype), atol=1e-5, rtol=1e-5)
