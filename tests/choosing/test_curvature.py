"""Second derivatives in gates: equal to finite differences, symmetric, and blind to heads that take over."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.choosing.curvature import curvature
from tests import planted, planted_pairs
from tests.pruning import jobs

STEP = 1e-3


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize("kind", ["classification", "choice", "gpt2", "marian"])
def test_equal_to_finite_differences(tokenizer: Any, kind: str) -> None:
    model, data, task = jobs.make(kind)
    layout = hc.read_anatomy(model).layout
    heads = [*[head for head in layout if head.head < 1][:4], list(layout)[-1]]
    found = curvature(model, tokenizer, data.head(3), heads, task=task, compute=hc.Compute(batch_tokens=30))
    job = jobs.job_of(model, data.head(3), task, tokenizer)
    batches = [jobs.alone(job, row) for row in range(3)]

    def loss(*moved: tuple[Any, float]) -> float:
        gates = {
            stack: torch.ones(layout.layers(stack), layout.width(stack), dtype=torch.float64) for stack in layout.stacks
        }
        for head, by in moved:
            gates[head.stack][head.layer, head.head] += by
        with torch.no_grad(), hc.gated(model, gates):
            return float(np.mean([own_loss(model(**batch).logits, batch["labels"]) for batch in batches]))

    def own_loss(logits: torch.Tensor, labels: torch.Tensor) -> float:
        # In float64, where transformers' own loss of a language model is in float32.
        if kind == "gpt2":
            logits, labels = logits[:, :-1], labels[:, 1:]
        return float(torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten()))

    rows = found["curvature"].values
    np.testing.assert_array_equal(rows, rows.T)
    expected, ours = [], []
    for (a, first), (b, second) in combinations(enumerate(heads), 2):
        corners = [
            sign * loss((first, x * STEP), (second, y * STEP))
            for x, y, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
        ]
        expected.append(sum(corners) / (4 * STEP**2))
        ours.append(rows[a, b])
    np.testing.assert_allclose(ours, expected, atol=2e-3 * max(np.abs(expected)))


def test_heads_that_take_over_completely_are_missed(tokenizer: Any) -> None:
    """The layer norm undoes small changes of either head: no slope and no curvature, though both carry everything."""
    model = planted_pairs.backups()
    found = curvature(model, tokenizer, planted.texts(20), list(hc.read_anatomy(model).layout), task="sst2")
    assert np.abs(found["curvature"]).max() < 1e-6


def test_the_kernels_are_as_before(tokenizer: Any) -> None:
    before = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
    model = planted_pairs.chain()
    curvature(model, tokenizer, planted.texts(8), list(hc.read_anatomy(model).layout), task="sst2")
    assert (torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()) == before
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_one_batch_or_many(tokenizer: Any, tmp_path: Path) -> None:
    model, texts = jobs.random_model(), planted.texts(12)
    heads = list(hc.read_anatomy(model).layout)
    whole = curvature(model, tokenizer, texts, heads, task="sst2")
    parts = curvature(
        model, tokenizer, texts, heads, task="sst2", out=tmp_path / "study", compute=hc.Compute(batch_tokens=20)
    )
    np.testing.assert_allclose(parts["curvature"], whole["curvature"], atol=1e-12)
    assert list(parts["first"].values) == [f"L{layer}H{head}" for layer in range(3) for head in range(4)]
