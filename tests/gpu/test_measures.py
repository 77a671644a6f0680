"""Measures and observed maps on the device equal those of a CPU in float64."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import torch

import headcount as hc
from tests.contracts import naive
from tests.contracts.zoo import BY_NAME, LAYERS
from tests.gpu.device import (
    DEVICE,
    GPU,
    NAMES,
    TOLERANCE,
    batch_for,
    largest_share,
    on_device,
    run_plain,
    using,
)
from tests.measures.planted import PAIRS, SENTENCES
from tests.measures.tiny import causal, masked, translator

pytestmark = GPU

MODELS = {"masked": masked, "causal": causal, "translator": translator}
TEXTS = pd.DataFrame({"text": SENTENCES})
TRANSLATIONS = pd.DataFrame(PAIRS, columns=["source", "target"])


@pytest.mark.parametrize("kind", MODELS)
def test_all_measures(kind: str) -> None:
    model, tokenizer = MODELS[kind]()
    data = TRANSLATIONS if kind == "translator" else TEXTS
    expected = hc.measure(copy.deepcopy(model).double(), tokenizer, data)
    found = hc.measure(model.to(DEVICE), tokenizer, data)
    assert set(found.children) == set(expected.children) >= {"position", "entropy", "spread", "gradients", "distances"}
    for name, dataset in expected.children.items():
        for variable in dataset.data_vars:
            if str(variable).startswith("values_"):
                assert_near(found[name][variable].values, dataset[variable].values, f"{name}.{variable}")


def assert_near(found: np.ndarray, expected: np.ndarray, name: str) -> None:
    """All values but one in a hundred: where two keys or two names tie, rounding decides."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected), err_msg=name)
    largest = max(float(np.nanmax(np.abs(expected))), 1e-6)
    wrong = np.abs(found - expected) > TOLERANCE[torch.float32] * largest
    assert wrong.mean() <= 0.01, f"{name}: {wrong.sum()} of {wrong.size} values differ"


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        (name, kernel)
        for name in NAMES
        for kernel in ("eager", "sdpa", "math", "efficient")
        if kernel == "eager" or "sdpa" in BY_NAME[name].kernels
    ],
)
def test_observed_maps(name: str, kernel: str) -> None:
    """The map is computed beside the kernel: it is what eager code returns."""
    case = BY_NAME[name]
    model, batch = on_device(name, kernel), batch_for(case, "left" if case.kind == "decoder" else "right")
    run_plain(model, batch, kernel)
    with using(kernel):
        seen = hc.observe(model, batch)
    expected = naive.own_maps(on_device(name, "eager"), batch)
    for stack, maps in seen.maps.items():
        real = naive.real_queries(case, stack, batch)
        for layer in range(LAYERS):
            share = largest_share(maps[layer].transpose(0, 1)[real], expected[stack][layer][real])
            assert share <= TOLERANCE[torch.float32], (stack, layer)
