from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from headcount.models.unembedding import FinalNorm, Unembedding, norm_candidates

WIDTH = 12


def norm(kind: Any) -> Any:
    module = kind(WIDTH)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0.5, 1)
    return module


@pytest.mark.parametrize(
    ("kind", "centred", "from_one"),
    [(nn.LayerNorm, True, False), (LlamaRMSNorm, False, False), (GemmaRMSNorm, False, True)],
)
def test_formulas_of_norms(kind: Any, centred: bool, from_one: bool) -> None:
    module, states = norm(kind), torch.randn(3, 5, WIDTH)
    torch.testing.assert_close(FinalNorm(module, centred, from_one)(states), module(states))
    fitting = [one for one in norm_candidates(module) if torch.allclose(one(states), module(states), atol=1e-5)]
    assert fitting == [FinalNorm(module, centred, from_one)]


def test_what_is_no_norm() -> None:
    assert norm_candidates(nn.Linear(3, 3)) == norm_candidates(nn.Dropout()) == []
    assert norm_candidates(nn.LayerNorm(WIDTH, elementwise_affine=False)) == []


@pytest.mark.parametrize("kind", [nn.LayerNorm, LlamaRMSNorm])
def test_logits_above_the_mean_are_products_with_directions(kind: Any) -> None:
    module, embedding = norm(kind).double(), nn.Linear(WIDTH, 7, bias=False).double()
    unembedding = Unembedding(FinalNorm(module, kind is nn.LayerNorm, False), embedding)
    states = torch.randn(4, WIDTH, dtype=torch.float64)
    if kind is nn.LayerNorm:
        nn.init.zeros_(module.bias)
    logits = embedding(module(states))
    directions = unembedding.directions(torch.arange(7))
    found = states @ directions.T / unembedding.norm.scale(states)[:, None]
    torch.testing.assert_close(found, logits - logits.mean(-1, keepdim=True), atol=1e-5, rtol=1e-5)
    assert unembedding.as_directions(unembedding.mean).abs().max() == 0
