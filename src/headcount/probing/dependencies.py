"""Does a head attend from words to their syntactic heads, or the other way round? (Clark et al. 2019, section 4.2)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.core.heads import Layout
from headcount.core.provenance import fingerprint
from headcount.core.results import Labelled
from headcount.measures.contract import Question, Setting, Values
from headcount.probing.relations import SCHEMAS, best_heads, best_random_heads, every_head
from headcount.probing.trees import DIRECTIONS, NO_HEAD, Trees
from headcount.probing.words import WordPieces, between_words
from headcount.trace.view import AttentionView

CAUSAL = "decoder"
"""The stack whose words see only those before them."""


@dataclass
class SeenWords:
    """One layer in one batch: its attention, the words of the tokens, their heads [B, N] and relations [B, N, R]."""

    view: AttentionView
    pieces: WordPieces
    heads: Tensor
    labels: Tensor


class Dependencies(Question):
    """For each relation and both directions, how often a head's most attended word is the one that the tree says.

    For a word, `dependent to head` asks for the word that it attends to most; `head to dependent` for the word that
    attends to it most. The word itself and special tokens are left out.
    """

    name, summary, paper = "dependencies", "how often the most attended word is the syntactic head", "Clark 2019, 4.2"
    category, averaged, schemas = "Syntax", False, SCHEMAS

    def __init__(self, trees: Trees, ids: np.ndarray, layout: Layout, source: str, control: bool) -> None:
        self.trees, self.ids, self.layout, self.source, self.control = trees, ids, layout, source, control

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        names = ("hits", "random_hits") if self.control else ("hits",)
        return dict.fromkeys(names, ("direction", "relation"))

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"direction": list(DIRECTIONS), "relation": list(self.trees.relations)}

    def notes(self) -> dict[str, Any]:
        arrays = [array.tobytes() for array in self.trees.heads + self.trees.labels]
        trees = fingerprint([self.trees.relations, *arrays])
        return {"from_word": self.source, "trees": trees}

    def see(self, seen: SeenWords) -> Values:
        words = between_words(seen.view, seen.pieces)
        unknown = ~seen.pieces.known
        itself = torch.eye(words.shape[-1], dtype=torch.bool, device=words.device)
        words = words.masked_fill(unknown[:, None, :, None] | unknown[:, None, None, :] | itself, -1)
        right = torch.stack([words.argmax(-1), words.argmax(-2)], 2) == seen.heads[:, None, None]
        if seen.view.block.stack == CAUSAL:
            before = seen.heads < torch.arange(seen.heads.shape[1], device=words.device)
            right &= torch.stack([before, ~before], 1)[:, None]
        right &= (seen.heads != NO_HEAD)[:, None, None]
        return {"hits": right.to(words.dtype) @ seen.labels[:, None].to(words.dtype)}

    def whole(self, values: dict[str, np.ndarray], seed: int) -> Labelled:
        order = np.argsort(self.ids)
        by_stack = {causal: self.trees.cases(causal)[order] for causal in (False, True)}
        cases = np.stack([by_stack[stack == CAUSAL] for stack in self.layout.stacks], 1)[:, :, None, None]
        offsets = self.trees.offset_hits()[order]
        words = np.broadcast_to(by_stack[False][:, :1], offsets.shape)
        hits = values["hits"]
        cases = np.where(np.isnan(hits), np.nan, cases)  # no such head, or none that is looked at
        return {
            **every_head(hits, cases, seed),
            **best_heads(hits, cases, offsets, words, self.layout, seed),
            **(best_random_heads(values["random_hits"], cases, seed) if self.control else {}),
        }
