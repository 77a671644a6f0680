"""Decoders whose logits are taken apart by hand: what each part of the pass wrote, from hooks on one text alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers.pytorch_utils import Conv1D

import headcount as hc
from headcount.models.anatomy import read_anatomy
from tests.measures import naive
from tests.measures.cases import small
from tests.measures.tiny import bare_tokenizer

TEXTS = [
    "the dog saw the cat , and the dog slept .",
    "she slept",
    "a dog is not a cat , a cat is not a dog , a fish is a fish near the river",
    "the the the",
]


def decoder(name: str) -> tuple[Any, Any]:
    """A tiny random decoder of the family in float64, with random gains and biases, and a tokenizer."""
    kind = {"gpt2": "GPT2LMHeadModel", "gpt_neox": "GPTNeoXForCausalLM", "llama": "LlamaForCausalLM"}[name]
    model = small(kind, name)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    return model, bare_tokenizer()


def final_norm(model: Any) -> Any:
    base = model.base_model
    return next(getattr(base, name) for name in ("norm", "ln_f", "final_layer_norm") if hasattr(base, name))


@dataclass
class Parts:
    """One text alone: what its pass computed, as arrays [token, width] and so on, all in float64."""

    ids: list[int]
    maps: np.ndarray
    outputs: np.ndarray
    values: np.ndarray
    projections: list[np.ndarray]
    written: list[np.ndarray]
    """What attention as a whole wrote, biases included, by layer."""
    further: list[np.ndarray]
    """What the feed-forward part of each layer wrote."""
    embedded: np.ndarray
    reader: naive.LogitReader
    logits: np.ndarray


def take_apart(model: Any, tokenizer: Any, text: str) -> Parts:
    batch = tokenizer(text, return_tensors="pt")
    batch = {name: batch[name] for name in ("input_ids", "attention_mask")}
    blocks = list(read_anatomy(model))
    kept: dict[str, Any] = {}

    def keep(name: str) -> Any:
        def hook(_: Any, args: Any, output: Any) -> None:
            kept[name] = (args[0] if name == "norm" or name.startswith("layer") else output)[0].double().numpy()

        return hook

    modules = {"norm": final_norm(model), "layer 0": blocks[0].layer_module}
    for number, block in enumerate(blocks):
        modules[f"written {number}"] = block.output
        modules[f"mlp {number}"] = block.layer_module.mlp
    handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    with torch.no_grad():
        logits = model(**batch).logits[0].double().numpy()
    for handle in handles:
        handle.remove()
    seen = hc.observe(model, batch)
    norm = final_norm(model)
    head = model.get_output_embeddings()
    reader = naive.LogitReader(
        kept["norm"],
        norm.weight.detach().numpy(),
        getattr(norm, "eps", None) or getattr(norm, "variance_epsilon", 0.0),
        isinstance(norm, torch.nn.LayerNorm),
        head.weight.detach().numpy(),
    )
    weights = [(block.output.weight.T if isinstance(block.output, Conv1D) else block.output.weight) for block in blocks]
    return Parts(
        batch["input_ids"][0].tolist(),
        seen.maps["decoder"][:, :, 0].double().numpy(),
        seen.outputs["decoder"][:, :, 0].double().numpy(),
        np.stack(_values(model, batch, blocks)),
        [weight.detach().double().numpy() for weight in weights],
        [kept[f"written {number}"] for number in range(len(blocks))],
        [kept[f"mlp {number}"] for number in range(len(blocks))],
        kept["layer 0"],
        reader,
        logits,
    )


def _values(model: Any, batch: Any, blocks: list[Any]) -> list[np.ndarray]:
    """The values [head, key, size] that the heads of each layer read; fused projections have them last."""
    kept: list[np.ndarray] = []

    def keep(block: Any) -> Any:
        def hook(_: Any, __: Any, output: torch.Tensor) -> None:
            given, size, heads = output[0].double().numpy(), block.head_size, len(block.heads)
            if block.plan.fused == "by-head":
                parts = [given[:, (3 * head + 2) * size : (3 * head + 3) * size] for head in range(heads)]
            else:
                given = given[:, 2 * heads * size :] if block.plan.fused == "by-part" else given
                groups = given.shape[1] // size
                parts = [given[:, (g := head * groups // heads) * size : (g + 1) * size] for head in range(heads)]
            kept.append(np.stack(parts))

        return hook

    handles = [block.projection("value")[0].register_forward_hook(keep(block)) for block in blocks]
    with torch.no_grad():
        model(**batch)
    for handle in handles:
        handle.remove()
    return kept
