"""Which decoders are proved, and what the others are refused for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf

from headcount.errors import UnsuitableModel
from headcount.trace.anatomy import read_anatomy
from headcount.trace.unembedding_proof import prove_unembedding
from tests.contracts.zoo import BY_NAME, tiny

PROVED = {"gpt2": True, "opt": True, "gpt_neox": True, "llama": False, "qwen2": False, "qwen3": False, "mistral": False}
"""Whether the final norm is centred."""


def test_every_decoder_is_here() -> None:
    assert set(PROVED) == {name for name, case in BY_NAME.items() if case.kind == "decoder"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", PROVED)
def test_decoders(name: str, dtype: torch.dtype) -> None:
    model = tiny(name, head="AutoModelForCausalLM").to(dtype)
    found = prove_unembedding(model, read_anatomy(model))
    assert found.embedding is model.get_output_embeddings()
    assert found.norm.centred == PROVED[name]
    assert not any(module._forward_hooks for module in model.modules())


def decoder(config: str, **options: Any) -> Any:
    sizes = {
        "vocab_size": 60,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 40,
        "head_dim": 8,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    torch.manual_seed(0)
    return tf.AutoModelForCausalLM.from_config(getattr(tf, config)(**sizes | options)).eval()


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: decoder("Gemma2Config"), "not the plain outputs of its output embedding"),
        (lambda: decoder("GraniteConfig", logits_scaling=8.0), "not the plain outputs of its output embedding"),
        (lambda: decoder("GraniteConfig", residual_multiplier=0.3), "layers.0 of .* does not add what its heads write"),
        (lambda: decoder("Gemma3TextConfig"), "layers.0 of .* does not add what its heads write"),
        (lambda: tiny("bert", head="AutoModelForMaskedLM"), "only decoders"),
        (lambda: tiny("t5", head="AutoModelForSeq2SeqLM"), "only decoders"),
        (lambda: tiny("llama"), "only decoders"),
    ],
)
def test_what_is_refused(model: Any, reason: str) -> None:
    model = model()
    with pytest.raises(UnsuitableModel, match=reason) as error:
        prove_unembedding(model, read_anatomy(model))
    assert "\n" not in str(error.value)


def test_gains_from_one() -> None:
    model = decoder("GemmaConfig")
    assert prove_unembedding(model, read_anatomy(model)).norm.from_one
