"""What heads write, in logits: the directions of tokens as each head's output or value meets them."""

from __future__ import annotations

import torch
from torch import Tensor

from headcount.measures.contract import Seen
from headcount.trace.precision import widened

TOKENS = 4096
"""At a time: a token's direction is as wide as the model."""


def before_projection(seen: Seen, directions: Tensor) -> Tensor:
    """Directions [..., width] of the residual stream as what a head gives meets them: [..., H, D].

    The output projection times the directions: its products with head outputs are products with what heads write.
    """
    view = seen.view
    outputs = view.outputs
    assert outputs is not None
    heads = outputs.shape[2]  # all of the layer's, of which the view may have some
    matrix = widened(view.block.output_matrix.to(outputs.device)).unflatten(0, (heads, -1))[view.chosen]
    products: Tensor = directions.to(matrix.dtype) @ matrix.flatten(0, 1).T
    by_head: Tensor = products.unflatten(-1, tuple(matrix.shape[:2]))
    return by_head


def token_directions(seen: Seen) -> tuple[Tensor, Tensor]:
    """The directions [token, H, D] of all different tokens of the batch as each head meets them, computed once for a
    layer, and the place of each token [B, T] among them; at special tokens there is nothing to be read.
    """
    tokens = seen.keys.token
    ids, place = seen.keys.once("different tokens", lambda: tokens.clamp(min=0).unique(return_inverse=True))
    return seen.once("token directions", lambda: _directions_of(seen, ids)), place


def _directions_of(seen: Seen, ids: Tensor) -> Tensor:
    assert seen.unembedding is not None
    parts = [before_projection(seen, seen.unembedding.directions(part)) for part in ids.split(TOKENS)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def mean_of_text(seen: Seen) -> Tensor:
    """The direction [B, width] of all tokens of each text together: the mean of theirs, special ones left out."""
    return seen.keys.once("mean of text", lambda: _mean_of_text(seen))


def _mean_of_text(seen: Seen) -> Tensor:
    assert seen.unembedding is not None
    unembedding, tokens = seen.unembedding, seen.keys.token
    rows = []
    for text in tokens:
        ids, counts = text[text >= 0].unique(return_counts=True)
        mean = unembedding.mean.to(ids.device)
        total = torch.zeros_like(mean)
        for start in range(0, len(ids), TOKENS):
            part = slice(start, start + TOKENS)
            total += counts[part].to(total.dtype) @ unembedding.rows(ids[part]).to(total.dtype)
        rows.append(total / counts.sum() if len(ids) else mean)
    return unembedding.as_directions(torch.stack(rows))


def same_in_text(seen: Seen) -> Tensor:
    """How often each token stands in its text [B, T], itself included; 1 at special ones."""
    return seen.keys.once("same in text", lambda: _same_in_text(seen.keys.token))


def _same_in_text(tokens: Tensor) -> Tensor:
    counts = torch.ones(tokens.shape, device=tokens.device)
    for row, text in enumerate(tokens):
        _, place, sizes = text.unique(return_inverse=True, return_counts=True)
        counts[row] = torch.where(text >= 0, sizes[place], 1)
    return counts


def of_others(all_tokens: Tensor, own: Tensor, count: Tensor, same: Tensor) -> Tensor:
    """From the mean over all tokens of a text and the value of one of them: the mean over those that differ from it.

    NaN in a text of one token again and again.
    """
    others = (count - same).to(own.dtype)
    return torch.where(others > 0, (count * all_tokens - same * own) / others, float("nan"))
