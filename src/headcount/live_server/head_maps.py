"""The attention map of one head in one pass, packed as the page unpacks it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel

from headcount.attention_maps.maps import pack
from headcount.attention_maps.plan import SCALE
from headcount.core.heads import Head
from headcount.errors import NotFinite
from headcount.trace.edits import LayerRun
from headcount.trace.session import session


@contextmanager
def watching(model: PreTrainedModel, head: Head | None) -> Iterator[list[Tensor]]:
    """A list that gets the head's map [query, key] of each pass inside, of the batch's first row."""
    seen: list[Tensor] = []
    if head is None:
        yield seen
        return

    def take(run: LayerRun) -> None:
        view, column = run.attention(), run.heads.index(head.head)
        alone = view.of_heads([column])  # no map of the others is built, unless an edit changes them all at once
        seen.append(view.map[0, column] if alone is None else alone.map[0, 0])

    with session(model, observers={(head.stack, head.layer): take}, purpose=f"watching {head}"):
        yield seen


def packed(weights: Tensor, name: str) -> dict[str, Any]:
    """A map as JSON: base64 of a byte for each weight, row by row."""
    if not bool(weights.isfinite().all()):
        raise NotFinite(f"the attention of {name} is not finite for this text; give --dtype float32")
    queries, keys = weights.shape
    return {
        "scale": SCALE,
        "queries": queries,
        "keys": keys,
        "bytes": base64.b64encode(pack(weights).tobytes()).decode("ascii"),
    }
