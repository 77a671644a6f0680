"""How many batches of a model may run at once: as many as fit into memory, or one where passes share state."""

from __future__ import annotations

from typing import Any

from headcount.models.dispatched import input_device, is_offloaded

CPU_MEMORY = 2 * 2**30
"""Default limit of the memory of all passes together on a CPU, in bytes."""


def batches_at_once(model: Any, size: int, memory: int | None = None) -> int:
    """The number of batches of `size` bytes each that may run at the same time, at least one.

    A GPU runs them one after the other anyway. Rotary embeddings that depend on the longest text keep their frequencies
    in the model while a pass runs, so that no second pass may run at the same time; accelerate brings offloaded weights
    into the model's modules for the time of a call.
    """
    changed = is_offloaded(model) or any(_is_changed_by_a_pass(module) for module in model.modules())
    if changed or input_device(model).type != "cpu":
        return 1
    return max(1, (memory or CPU_MEMORY) // max(1, size))


def _is_changed_by_a_pass(module: Any) -> bool:
    rope_type = getattr(module, "rope_type", None) or ()
    types = rope_type.values() if isinstance(rope_type, dict) else [rope_type]
    return any("dynamic" in str(name) or name == "longrope" for name in types)


def bytes_per_token(model: Any, vocabulary: bool = False, layers: int = 1) -> int:
    """A generous estimate of the memory that one token needs at the widest point of a pass.

    `vocabulary`: whether logits over the whole vocabulary are computed, which then need most. `layers`: the number of
    layers whose activations are kept, as for a backward pass.
    """
    config = model.config
    hidden: int = getattr(config, "hidden_size", 0) or getattr(config, "d_model", 768)
    names = ("intermediate_size", "hidden_dim", "d_ff", "ffn_dim", "encoder_ffn_dim", "n_inner")
    inner = max(int(getattr(config, name, 0) or 0) for name in names) or 4 * hidden
    logits = config.vocab_size * (model.dtype.itemsize + 8) if vocabulary else 0
    return int(layers * (10 * hidden + 3 * inner) * model.dtype.itemsize + logits)
