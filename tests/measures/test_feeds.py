"""How each kind of measure is fed: what every kind gives, for which heads, and what a batch of each looks like."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from headcount.measures.catalogue import MEASURES
from headcount.measures.feeds import feeds_of
from headcount.measures.measurement import prepare_measurement
from tests.measures.planted import SENTENCES
from tests.measures.tiny import causal, masked, translator

TEXTS = pd.DataFrame({"text": SENTENCES})
BOTH = pd.DataFrame({"source": SENTENCES[:5], "target": SENTENCES[5:]})
MODELS = {"masked": (masked, TEXTS), "causal": (causal, TEXTS), "translator": (translator, BOTH)}
FIRST = {"layers": "entropy", "gradients": "gradients", "maps": "distances"}
"""A measure of each kind."""


def test_every_kind_of_measure_is_fed() -> None:
    fed = feeds_of(prepare_measurement(*masked(), TEXTS))
    assert set(fed) == {measure.kind for measure in MEASURES.values()} == set(FIRST)


@pytest.mark.parametrize("kind", FIRST)
@pytest.mark.parametrize("model", MODELS)
def test_values_of_every_text_and_head(model: str, kind: str) -> None:
    make, data = MODELS[model]
    measurement = prepare_measurement(*make(), data)
    question = MEASURES[FIRST[kind]]
    texts = np.array([3]) if kind == "maps" else np.array([3, 0])
    values = feeds_of(measurement)[kind]([question], texts)[question.name]
    assert set(values) == {(block.stack, block.layer) for block in measurement.anatomy}
    for (stack, layer), arrays in values.items():
        assert set(arrays) == set(question.variables(measurement.setting))
        heads = len(measurement.anatomy.attention(stack, layer).heads)
        assert all(array.shape[:2] == (len(texts), heads) for array in arrays.values())


def test_tokens_are_masked_by_the_row_and_the_seed() -> None:
    """The same text is masked alike in any batch, and otherwise with another seed."""
    model = masked()
    question = MEASURES["gradients"]

    def gradients(seed: int, texts: list[int]) -> torch.Tensor:
        measurement = prepare_measurement(*model, TEXTS, seed=seed)
        values = feeds_of(measurement)["gradients"]([question], np.array(texts))["gradients"]["encoder", 1]
        return next(iter(values.values()))

    alone, beside, other = gradients(0, [4]), gradients(0, [4, 1]), gradients(1, [4])
    torch.testing.assert_close(alone[0], beside[0], rtol=1e-4, atol=1e-9, equal_nan=True)
    assert not torch.allclose(alone, other, rtol=1e-3, equal_nan=True)
