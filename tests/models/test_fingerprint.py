"""A model's fingerprint changes with its weights and number type."""

from __future__ import annotations

import torch

import headcount as hc
from headcount.models.fingerprint import device_label, model_fingerprint, shared_keys
from tests.contracts.zoo import tiny


def test_fingerprints_tell_models_apart() -> None:
    first = model_fingerprint(tiny("bert"))
    assert first == model_fingerprint(tiny("bert"))
    assert first != model_fingerprint(tiny("bert").bfloat16())
    changed = tiny("bert")
    with torch.no_grad():
        changed.encoder.layer[1].attention.self.query.weight[0, 0] += 1
    assert first != model_fingerprint(changed)


def test_the_device_in_words() -> None:
    assert device_label(tiny("bert")) == "cpu"


def test_how_many_heads_share_a_key() -> None:
    """Of a model that was cut nothing is said, as its groups may differ in size."""
    assert shared_keys(tiny("bert")) == {}
    llama = tiny("llama")
    config = llama.config
    assert shared_keys(llama) == {
        "heads_per_key": {"decoder": config.num_attention_heads // config.num_key_value_heads}
    }
    assert shared_keys(hc.prune(llama, ["L0H0"])) == {}
