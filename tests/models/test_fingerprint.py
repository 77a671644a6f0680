"""A model's fingerprint changes with its weights and number type."""

from __future__ import annotations

import torch

from headcount.models.fingerprint import device_label, model_fingerprint
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
