"""What `doctor` returns: an environment, what is known of a model, and its checks."""

from __future__ import annotations

import json

import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.self_check.doctor import doctor
from tests.contracts.zoo import tiny
from tests.self_check import broken


def test_without_a_model() -> None:
    found = hc.doctor()
    assert found.support is None
    assert found.checks == ()
    assert found.healthy == (not found.environment.unsupported)


def test_a_model_and_plain_data() -> None:
    found = hc.doctor(tiny("bert"))
    assert found.healthy
    assert found.support is not None
    assert found.support.heads == "12 heads (encoder: 3 layers)"
    assert found.support.how == "by the record of its type"
    assert found.support.cut == ""
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["healthy"] is True


def test_what_cannot_be_cut_says_why() -> None:
    support = hc.doctor(tiny("albert")).support
    assert support is not None
    assert "uses the weights of one layer for all" in support.cut


def test_a_model_without_a_record_is_proved() -> None:
    config = tf.GemmaConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=4,
        intermediate_size=20,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    found = doctor(tf.GemmaModel(config).eval())
    assert found.support is not None
    assert found.support.how.startswith("Proved on small passes")
    assert found.healthy, found.checks


@pytest.mark.parametrize("make", [broken.shifted, broken.drifting])
def test_a_broken_model_is_not_healthy(make: object) -> None:
    assert not hc.doctor(make()).healthy  # type: ignore[operator]
