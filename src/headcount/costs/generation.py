"""What generating costs a decoder: the prompt in one pass (prefill), then token by token with its cache (decode)."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.schema import Schema
from headcount.costs.turns import in_turns, wait
from headcount.errors import UnsuitableModel
from headcount.trace.modes import evaluating

PER_SECOND = "tokens a second"
SCHEMAS = {
    "new_tokens": Schema("New tokens", "tokens", "after the prompt, one pass each", (1, None)),
    "prefill": Schema("Prefill, median", PER_SECOND, "prompt tokens of all texts", (0, None)),
    "prefill_low": Schema("Prefill, lower quartile", PER_SECOND, range=(0, None)),
    "prefill_high": Schema("Prefill, upper quartile", PER_SECOND, range=(0, None)),
    "decode": Schema("Decode, median", PER_SECOND, "new tokens of all texts", (0, None)),
    "decode_low": Schema("Decode, lower quartile", PER_SECOND, range=(0, None)),
    "decode_high": Schema("Decode, upper quartile", PER_SECOND, range=(0, None)),
    "cache_bytes": Schema("Key/value cache", "bytes", "after the last token", (0, None)),
}


@dataclass
class Generation:
    """Seconds of the prompt and of all new tokens, one number for each repetition, and the cache at the end."""

    prefill: list[float] = field(default_factory=list)
    decode: list[float] = field(default_factory=list)
    cache_bytes: int = 0


def check_generates(name: str, model: PreTrainedModel) -> None:
    """An error for a model that does not generate with a cache of its own keys and values alone."""
    if not model.can_generate() or getattr(model.config, "is_encoder_decoder", False):
        raise UnsuitableModel(
            f"{name} ({type(model).__name__}) is no decoder that generates texts, which new_tokens= needs; leave it out"
        )


def time_generation(
    models: Mapping[str, PreTrainedModel], prompts: Mapping[str, Tensor], new_tokens: int, repeats: int
) -> dict[str, Generation]:
    """Run the prompts and `new_tokens` tokens more, each the most probable one, models taking turns."""
    found = {name: Generation() for name in models}
    for name, timed in in_turns(models, repeats):
        generation = generate_once(models[name], prompts[name], new_tokens)
        if timed:
            found[name].prefill += generation.prefill
            found[name].decode += generation.decode
            found[name].cache_bytes = generation.cache_bytes
    return found


@torch.no_grad()
def generate_once(model: PreTrainedModel, prompt: Tensor, new_tokens: int) -> Generation:
    """One prompt [text, token], and the passes of `new_tokens` single tokens after it."""
    last: dict[str, Any] = {}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        last["logits_to_keep"] = 1  # as in generation, only the last token of the prompt predicts
    with evaluating(model):
        wait(model)
        start = time.perf_counter()
        result = model(input_ids=prompt, use_cache=True, **last)
        wait(model)
        middle = time.perf_counter()
        for _ in range(new_tokens):
            token = result.logits[:, -1:].argmax(-1)
            result = model(input_ids=token, past_key_values=result.past_key_values, use_cache=True)
        wait(model)
        end = time.perf_counter()
    return Generation([middle - start], [end - middle], cache_bytes(result.past_key_values))


def cache_bytes(cache: Any) -> int:
    """The bytes of all tensors that the layers of a cache hold."""
    tensors = [value for layer in cache.layers for value in vars(layer).values() if isinstance(value, Tensor)]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def generation_row(found: Generation, batch: int, length: int, new_tokens: int) -> dict[str, float]:
    """The columns of one model and shape, by the names in `SCHEMAS`."""
    row: dict[str, float] = {"new_tokens": new_tokens, "cache_bytes": found.cache_bytes}
    for name, seconds, tokens in (
        ("prefill", found.prefill, batch * length),
        ("decode", found.decode, batch * new_tokens),
    ):
        slow, middle, fast = np.quantile(seconds, (0.75, 0.5, 0.25))
        row |= {f"{name}_low": tokens / slow, name: tokens / middle, f"{name}_high": tokens / fast}
    return row
