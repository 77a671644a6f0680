"""From attention between pieces to attention between words: to a split word the sum, from a split word the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.trace.view import AttentionView

SOURCES = ("mean", "first")
"""From a split word: the mean over its pieces, as Clark et al. write, or its first piece, as their code does."""


@dataclass(frozen=True)
class WordPieces:
    """The words of the texts of a batch: B texts, T tokens, N words."""

    member: Tensor
    """[B, T, N]: 1 where the token is a piece of the word."""
    share: Tensor
    """[B, N, T]: how much each piece counts in the attention from its word; the rows of real words sum to 1."""
    known: Tensor
    """[B, N]: whether the word is there and has pieces of its own."""


def as_word_pieces(
    words: Sequence[Sequence[int | None]], known: Sequence[Sequence[bool]], device: Any, source: str = "mean"
) -> WordPieces:
    """From the word of each token, and which words count, text by text."""
    tokens, most = max(map(len, words)), max(max(map(len, known)), 1)
    member = np.zeros((len(words), tokens, most), dtype=np.float32)
    first = np.zeros_like(member)
    counts = np.zeros((len(words), most), dtype=bool)
    for text, (numbers, flags) in enumerate(zip(words, known, strict=True)):
        counts[text, : len(flags)] = flags
        seen = set()
        for token, word in enumerate(numbers):
            if word is not None and flags[word]:
                member[text, token, word] = 1
                first[text, token, word] = word not in seen
                seen.add(word)
    share = first if source == "first" else member / np.maximum(member.sum(1, keepdims=True), 1)
    return WordPieces(
        torch.from_numpy(member).to(device),
        torch.from_numpy(share).to(device).transpose(1, 2).contiguous(),
        torch.from_numpy(counts).to(device),
    )


def between_words(view: AttentionView, pieces: WordPieces) -> Tensor:
    """[B, H, N, N]: the attention from word to word, zero from and to words that are not known."""
    weights = view.unnormalised
    examples, heads, tokens, _ = weights.shape
    words = pieces.member.shape[-1]
    # All heads of a text in one product: the same words for each of them would be copied otherwise.
    to_words = (weights.flatten(1, 2) @ pieces.member.to(weights.dtype)).view(examples, heads, tokens, words)
    to_words /= view.total[..., None]
    by_token = to_words.transpose(1, 2).reshape(examples, tokens, heads * words)
    return (pieces.share.to(weights.dtype) @ by_token).view(examples, words, heads, words).transpose(1, 2)


def from_words(view: AttentionView, pieces: WordPieces, chosen: Tensor) -> Tensor:
    """[B, H, C, N]: the attention from some words, `chosen` [B, C], to every word; rows of `between_words`."""
    dtype = view.unnormalised.dtype
    share = pieces.share.to(dtype).gather(1, chosen[..., None].expand(-1, -1, pieces.share.shape[2]))
    from_pieces = share[:, None] / view.total[:, :, None] @ view.unnormalised
    return from_pieces @ pieces.member.to(dtype)[:, None]


def to_words(view: AttentionView, pieces: WordPieces, chosen: Tensor) -> Tensor:
    """[B, H, C, N]: the attention to some words, `chosen` [B, C], from every word; columns of `between_words`."""
    dtype = view.unnormalised.dtype
    member = pieces.member.to(dtype).gather(2, chosen[:, None].expand(-1, pieces.member.shape[1], -1))
    to_pieces = view.unnormalised @ member[:, None] / view.total[..., None]
    return (pieces.share.to(dtype)[:, None] @ to_pieces).transpose(2, 3)
