"""How much of a sweep runs at once: as many tokens as are fast, and no more than fit into memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch

from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.models.dispatched import input_device
from headcount.trace.at_once import CPU_MEMORY, batches_at_once, bytes_per_token

CPU_TOKENS, GPU_TOKENS = 192, 16384
"""Tokens of a batch before it is repeated for the variants; small batches stay in the caches of a CPU."""
USUAL_WIDTH = 12
"""The number of variants that these were measured for; with fewer, a batch holds more texts."""
GPU_SHARE = 0.5
GPU_SPEED, LONG = 3e14, 60.0
"""Operations a second that the layers of a sweep reach on a large GPU, and the seconds from which compiling pays:
it takes 5 to 15 seconds."""


@dataclass(frozen=True)
class Budget:
    """Padded tokens of a batch, variants of it that run together, and batches that run at the same time."""

    tokens: int
    width: int
    at_once: int = 1


def parse_memory(text: str | int | None) -> int | None:
    """Bytes from `4GB`, `500MB` or a number.

    >>> parse_memory("1.5GB")
    1610612736
    """
    if text is None or isinstance(text, int):
        return text
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), flags=re.IGNORECASE)
    if not match or float(match[1]) <= 0:
        raise InvalidOption(f"got the memory {text!r}; expected a size such as 4GB or 500MB")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def pays_to_compile(model: Any, tokens: int, variants: int) -> bool:
    """Whether a sweep over so many tokens is long enough for compiled layers: they save a fifth or more of its time.

    Variants run half of the layers on average. On other devices than NVIDIA GPUs nothing is compiled unasked.
    """
    if model.device.type != "cuda" or hasattr(model, "hf_device_map"):
        return False
    operations = 2 * sum(weights.numel() for weights in model.parameters()) * tokens * variants / 2
    return bool(operations / GPU_SPEED > LONG)


def plan_budget(
    model: Any,
    anatomy: Anatomy,
    vocabulary: bool,
    widest: int,
    memory: int | None,
    tokens: int | None,
    longest: int,
    nested: bool = False,
) -> Budget:
    """A budget for a sweep whose largest group has `widest` variants and whose longest text has `longest` tokens.

    `vocabulary`: whether logits over the whole vocabulary are computed, which then need most memory. `nested`: whether
    as many variants as run together are also remembered, layer by layer.
    """
    device = input_device(model)
    if memory is None:
        memory = int(torch.cuda.mem_get_info(device)[0] * GPU_SHARE) if device.type == "cuda" else CPU_MEMORY
    each = bytes_per_token(model, vocabulary)
    kept = sum(len(block.heads) * block.head_size for block in anatomy) * model.dtype.itemsize
    if nested and device.type == "cpu":
        widest = min(widest, USUAL_WIDTH)
    width = max(1, min(widest, memory // max(1, longest * (each + kept))))
    kept *= 1 + width if nested else 1
    usual = GPU_TOKENS if device.type == "cuda" else CPU_TOKENS
    fast = tokens or max(usual, usual * USUAL_WIDTH // width)
    planned = max(1, min(fast, memory // (width * each + kept)))
    # Memory limits how many batches run together, not their size: results must not depend on the number of cores.
    return Budget(planned, int(width), batches_at_once(model, max(planned, longest) * (width * each + kept), memory))
