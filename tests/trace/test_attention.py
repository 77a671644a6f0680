"""Generation inside a context, with caches, equals plain passes over the whole text."""

from __future__ import annotations

import pytest
import torch

import headcount as hc
from tests.contracts.zoo import BY_NAME, VOCABULARY, tiny

CAUSAL = ["gpt2", "opt", "gpt_neox", "llama", "qwen2", "mistral"]
PAIRS = ["t5", "bart", "marian"]


def greedy(model: object, ids: torch.Tensor, steps: int) -> torch.Tensor:
    for _ in range(steps):
        logits = model(input_ids=ids, use_cache=False).logits[:, -1]  # type: ignore[operator]
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], 1)
    return ids


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("name", CAUSAL)
@torch.no_grad()
def test_generation_of_decoders(name: str, how: str, cache: str) -> None:
    if cache == "static" and name in ("opt", "gpt2", "gpt_neox"):
        pytest.skip("one family with a static cache is enough")
    model = tiny(name, head="AutoModelForCausalLM")
    ids = torch.randint(3, VOCABULARY, (2, 5), generator=torch.Generator().manual_seed(3))
    options = {"cache_implementation": "static", "disable_compile": True} if cache == "static" else {}
    with hc.ablated(model, ["L0H1", "L2"], how=how):
        expected = greedy(model, ids, 6)
        made = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=6,
            min_new_tokens=6,
            do_sample=False,
            pad_token_id=0,
            eos_token_id=None,
            **options,
        )
    assert torch.equal(made, expected)


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("name", PAIRS)
@torch.no_grad()
def test_generation_of_encoder_decoders(name: str, how: str) -> None:
    model = tiny(name, head="AutoModelForSeq2SeqLM")
    ids = torch.randint(3, VOCABULARY, (2, 7), generator=torch.Generator().manual_seed(3))
    heads = ["encoder.L0H1", "decoder.L1H2", "cross.L2"]
    with hc.ablated(model, heads, how=how):
        made = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=5, min_new_tokens=5, num_beams=1, do_sample=False
        )
        decoded = made[:, :1]
        for _ in range(5):
            logits = model(input_ids=ids, decoder_input_ids=decoded, use_cache=False).logits[:, -1]
            logits[:, [0, model.config.eos_token_id]] = -1e9
            decoded = torch.cat([decoded, logits.argmax(-1, keepdim=True)], 1)
    assert BY_NAME[name].kind == "pair"
    assert torch.equal(made, decoded)
