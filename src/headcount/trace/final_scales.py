"""What the final norm divides each state by in a pass: the scale at which heads act on logits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headcount.models.unembedding import FinalNorm
from headcount.trace.hooks import hooked


@contextmanager
def final_scales(norm: FinalNorm) -> Iterator[list[Tensor]]:
    """The scales [B, Q] of each pass that this thread runs inside the context."""
    scales: list[Tensor] = []
    thread = threading.get_ident()

    def keep(_: nn.Module, args: tuple[Any, ...]) -> None:
        if threading.get_ident() == thread:
            scales.append(norm.scale(args[0]))

    with hooked([norm.module], before=keep):
        yield scales
