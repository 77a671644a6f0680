"""Does a head attend from words to their syntactic heads, or the other way round? (Clark et al. 2019, section 4.2)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headcount.core.claims import SYNTACTIC
from headcount.core.heads import Layout
from headcount.core.options import one_of
from headcount.core.probe_names import causal_stacks
from headcount.core.provenance import fingerprint
from headcount.core.results import Labelled
from headcount.core.schema import Schema
from headcount.data.annotations import Annotated
from headcount.data.in_memory import InMemory
from headcount.data.join_multiword import join_multiword
from headcount.data.read_annotated import read_annotated
from headcount.measures.contract import Setting, Values
from headcount.probing.dependencies.offsets import evaluate_offsets
from headcount.probing.dependencies.trees import DIRECTIONS, NO_HEAD, OFFSETS, Trees, read_trees
from headcount.probing.selection.accuracies import halves
from headcount.probing.selection.baselines import baseline
from headcount.probing.selection.relations import best_heads, every_head
from headcount.probing.words.contract import Kind, SeenWords, WordQuestion
from headcount.probing.words.most_attended import most_attended
from headcount.probing.words.sentences import Sentences

WORDS = ("written", "annotated")
SHARE = "share of the words"
SCHEMAS = {
    "accuracy": Schema(
        "Attends along a relation",
        SHARE,
        "1: the most attended word is always the syntactic head",
        (0, 1),
        shown=False,
    ),
    "relation_gain": Schema(
        "Follows its best relation, above the best fixed offset",
        SHARE,
        "above 0: right more often than any fixed offset",
        signed=True,
        most="follows a relation between words furthest beyond any fixed offset",
        role="syntactic",
        role_from=SYNTACTIC,
    ),
    "best_accuracy": Schema("Best head", SHARE, range=(0, 1), shown=False),
    "baseline_offset": baseline("Best fixed offset", SHARE),
    "baseline_right_branching": baseline("Next word", SHARE),
    "baseline_random_weights": baseline("Random weights", SHARE),
    "gain": Schema("Best head above the best fixed offset", SHARE, signed=True, shown=False),
}


class Dependencies(WordQuestion):
    """For each relation and both directions, how often a head's most attended word is the one that the tree says.

    For a word, `dependent to head` asks for the word that it attends to most; `head to dependent` for the word that
    attends to it most. The word itself and special tokens are left out.
    """

    name, summary, paper = "dependencies", "how often the most attended word is the syntactic head", "Clark 2019, 4.2"
    category, schemas = "Syntax", SCHEMAS

    def __init__(self, trees: Trees, ids: np.ndarray, layout: Layout, source: str, control: bool) -> None:
        super().__init__(source, control)
        self.trees, self.ids, self.layout = trees, ids, layout
        self.causal = causal_stacks(list(layout.stacks))

    def counts(self) -> dict[str, tuple[str, ...]]:
        return {"hits": ("direction", "relation")}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"direction": list(DIRECTIONS), "relation": list(self.trees.relations)}

    def notes(self) -> dict[str, Any]:
        arrays = [array.tobytes() for array in self.trees.heads + self.trees.labels]
        trees = fingerprint([self.trees.relations, *arrays])
        return {**super().notes(), "trees": trees}

    def batch(self, numbers: Sequence[int], words: int, device: Any) -> tuple[Tensor, Tensor]:
        return self.trees.batch(numbers, words, device)

    def predicted(self, seen: SeenWords) -> Tensor:
        return most_attended(seen)

    def see(self, seen: SeenWords) -> Values:
        heads, labels = seen.gold
        right = self.predicted(seen) == heads[:, None, None]
        if seen.causal:
            before = heads < torch.arange(heads.shape[1], device=heads.device)
            right &= torch.stack([before, ~before], 1)[:, None]
        right &= (heads != NO_HEAD)[:, None, None]
        return {"hits": right.to(labels.dtype) @ labels[:, None]}

    def true_arcs(self, number: int, relation: str, direction: int) -> list[tuple[int, tuple[int, ...]]]:
        return [(word, (head,)) for word, head in self.trees.arcs(number, relation, direction, self.causal)]

    def whole(self, values: dict[str, np.ndarray], seed: int) -> Labelled:
        order = np.argsort(self.ids)
        cases, offsets = self.trees.cases(self.causal)[order], self.trees.offset_hits(self.causal)[order]
        hits = values["hits"]
        rules = evaluate_offsets(offsets, cases, halves(len(hits), seed), seed)
        best = best_heads(hits, rules, self.layout, seed, values.get("random_hits"))
        dims, rule = best.pop("best_rule")
        offset = np.where(rule < 0, 0, np.array(OFFSETS)[rule])
        return {**every_head(hits, cases, seed), **best, "best_offset": (dims, offset)}


@dataclass(frozen=True)
class DependencyTrees(Kind):
    """Of a CoNLL-U file, or a table with tokens, upos, heads and deprels."""

    name: ClassVar[str] = "dependencies"
    relations: Sequence[str] | None = None
    """Only these; all with enough cases by default."""
    words: str = "written"
    """`written`: multiword tokens (French `du`) are one word, as in the text; `annotated`: the words of the tree."""

    def __post_init__(self) -> None:
        one_of("words", self.words, WORDS)

    def read(self, data: str | Path | InMemory, tokenizer: Any, longest: int) -> list[Annotated]:
        if self.words == "annotated":
            return [replace(sentence, multiword=()) for sentence in read_annotated(data, texts=False)]
        return [join_multiword(sentence) for sentence in read_annotated(data)]

    def ask(self, sentences: Sentences, layout: Layout, source: str, control: bool) -> Dependencies:
        trees = read_trees(sentences.annotated, sentences.known, self.relations)
        return Dependencies(trees, sentences.inputs.ids, layout, source, control)
