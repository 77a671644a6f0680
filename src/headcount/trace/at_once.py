"""How many batches of a model may run at once: as many as fit into memory, one where passes share more than weights."""

from __future__ import annotations

from typing import Any

CPU_MEMORY = 2 * 2**30
"""Bytes that all passes together may take on a CPU unless the user says otherwise."""


def batches_at_once(model: Any, size: int, memory: int | None = None) -> int:
    """The batches of `size` bytes each that may run at the same time, at least one.

    A GPU runs one after the other anyway. Rotary embeddings that depend on the longest text keep their frequencies in
    the model while a pass runs, so that no second one may run beside it.
    """
    if model.device.type != "cpu" or any(_changes_in_a_pass(module) for module in model.modules()):
        return 1
    return max(1, (memory or CPU_MEMORY) // max(1, size))


def _changes_in_a_pass(module: Any) -> bool:
    kinds = getattr(module, "rope_type", None) or ()
    names = kinds.values() if isinstance(kinds, dict) else [kinds]
    return any("dynamic" in str(name) or name == "longrope" for name in names)


def bytes_per_token(model: Any, vocabulary: bool = False, layers: int = 1) -> int:
    """A generous estimate of what one token needs at the widest place of a pass.

    `vocabulary`: whether scores over the whole vocabulary are computed, which then weigh most. `layers`: how many of
    them are kept, as for a backward pass.
    """
    config = model.config
    hidden: int = getattr(config, "hidden_size", 0) or getattr(config, "d_model", 768)
    inner = (
        max(
            int(getattr(config, name, 0) or 0)
            for name in ("intermediate_size", "hidden_dim", "d_ff", "ffn_dim", "encoder_ffn_dim", "n_inner")
        )
        or 4 * hidden
    )
    each = layers * (10 * hidden + 3 * inner) * model.dtype.itemsize
    return int(each + (config.vocab_size * (model.dtype.itemsize + 8) if vocabulary else 0))
