"""Does a head attend between a frame's elements and its predicate? (Kovaleva et al. 2019, section 4.2, Figure 3)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headcount.core.heads import Layout
from headcount.core.options import one_of
from headcount.core.probe_names import ALL, causal_stacks
from headcount.core.results import Labelled, with_interval
from headcount.core.schema import Schema
from headcount.data.frame_links import ELEMENTS, Filtered, FrameSentence, filter_links
from headcount.data.frames import read_frames
from headcount.data.in_memory import InMemory
from headcount.measures.contract import Setting, Values
from headcount.probing.frames.link_pairs import FramePairs, GoldPairs, find_pairs
from headcount.probing.frames.link_weights import (
    Best,
    Links,
    best_links,
    better_directions,
    heads_above,
    mean_weights,
    random_weights,
)
from headcount.probing.selection.accuracies import halves
from headcount.probing.selection.baselines import baseline
from headcount.probing.selection.relations import name_best
from headcount.probing.words.contract import Kind, SeenWords, WordQuestion
from headcount.probing.words.most_attended import most_attended
from headcount.probing.words.sentences import Sentences

DIRECTIONS = ("element to predicate", "predicate to element")
WEIGHT = "attention weight"
ALONG = ("relation",)
SCHEMAS = {
    "weight": Schema(
        "Attention along frame-semantic links", WEIGHT, "1: all attention, in every sentence", (0, 1), shown=False
    ),
    "null_weight": Schema("Attention between unlinked words, same distance", WEIGHT, range=(0, 1), shown=False),
    "excess": Schema("Frame-semantic links above unlinked words", WEIGHT, signed=True, shown=False),
    "frame_excess": Schema(
        "Follows frame-semantic links, above unlinked words at the same distance",
        WEIGHT,
        "above 0: attends more along links than between unlinked words",
        signed=True,
        most="follows frame-semantic links furthest beyond unlinked words at the same distance",
    ),
    "best_accuracy": Schema("Best head", WEIGHT, range=(0, 1), shown=False),
    "baseline_unlinked": baseline("Unlinked words, same distance", WEIGHT),
    "baseline_random_weights": baseline("Random weights", WEIGHT),
    "gain": Schema("Best head above unlinked words", WEIGHT, signed=True, shown=False),
}


class Frames(WordQuestion):
    """For each link the largest attention weight over its pairs of words, in both directions, beside a null.

    A link is between the words of an element and those of the predicate (the target). As in the paper, its weight is
    the largest over its pairs; unlike in its code, between words instead of pieces (to a split word the sum, from it
    the mean), over all pairs instead of those at the same position in both lists, and in both directions. The null
    shifts all pairs of a link by so many words that nothing is linked there: the same distance, the same number of
    pairs, the same sentence, words with as many pieces; the mean over all such shifts.
    """

    name, summary, paper = "frames", "attention between frame elements and their predicate", "Kovaleva 2019, 4.2"
    category, schemas = "Semantics", SCHEMAS

    def __init__(
        self, pairs: FramePairs, kept: Filtered, ids: np.ndarray, layout: Layout, source: str, control: bool
    ) -> None:
        super().__init__(source, control)
        self.pairs, self.kept, self.ids, self.layout = pairs, kept, ids, layout

    def counts(self) -> dict[str, tuple[str, ...]]:
        return {"weight": ("direction", "link"), "null": ("direction", "link")}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {
            "direction": list(DIRECTIONS),
            "link": list(range(self.pairs.slots)),
            "relation": list(self.pairs.relations),
        }

    def notes(self) -> dict[str, Any]:
        return {
            **super().notes(),
            "pairs": self.pairs.digest(),
            "filter": self.kept.steps,
            "filtered_sentences": self.kept.sentences,
            "links": sum(map(len, self.pairs.blocks)),
            "links_unknown": self.pairs.unknown,
            "links_without_null": dict(zip(DIRECTIONS, self.pairs.incomparable(), strict=True)),
        }

    def batch(self, numbers: Sequence[int], words: int, device: Any) -> GoldPairs:
        return self.pairs.batch(numbers, device)

    def predicted(self, seen: SeenWords) -> Tensor:
        return most_attended(seen)

    def true_arcs(self, number: int, relation: str, direction: int) -> list[tuple[int, tuple[int, ...]]]:
        causal = causal_stacks(list(self.layout.stacks))
        return [
            (word, block.link.target)
            for block in self.pairs.blocks[number]
            if (relation == ALL or relation in block.link.names)
            and not (causal and block.link.after_target == bool(direction))
            for word in block.link.element
        ]

    def see(self, seen: SeenWords) -> Values:
        gold: GoldPairs = seen.gold
        words = seen.between_words().permute(0, 2, 3, 1)
        text = gold.text[:, None, None]
        ways = [words[text, gold.element, gold.target], words[text, gold.target, gold.element]]
        # [link, block, head, direction]: the largest over the pairs of a block.
        largest = torch.stack(ways, -1).amax(2)
        real = gold.real[:, 1:, None]
        null = torch.where(real, largest[:, 1:], 0).sum(1) / real.sum(1)
        if seen.causal:
            hidden = ~torch.stack([gold.after, ~gold.after], -1)[:, None]
            largest[:, 0].masked_fill_(hidden, torch.nan)
            null.masked_fill_(hidden, torch.nan)
        return {
            name: _by_text(values, gold, words.shape[0]) for name, values in (("weight", largest[:, 0]), ("null", null))
        }

    def whole(self, values: dict[str, np.ndarray], seed: int) -> Labelled:
        order = np.argsort(self.ids)
        named = self.pairs.named()[order]
        links = Links(values["weight"], values["null"])
        selecting = halves(len(named), seed)
        best = best_links(links, named, selecting, seed)
        arrays = {
            **mean_weights(links, seed),
            **heads_above(links, seed),
            **better_directions(links, selecting, seed),
            **self._best(best, links.weight.shape[1:5]),
        }
        if "random_weight" in values:
            random = Links(values["random_weight"], values["random_null"])
            # Under a causal mask each direction has links of its own.
            among = best.index % links.directions if causal_stacks(list(self.layout.stacks)) else None
            control = best_links(random, named, selecting, seed, among).weight.interval()
            arrays |= {**random_weights(random, seed), **with_interval("baseline_random_weights", ALONG, control)}
        return arrays

    def _best(self, best: Best, shape: tuple[int, ...]) -> Labelled:
        return {
            **name_best(best.index, shape, self.layout, DIRECTIONS),
            "held_out_cases": (ALONG, best.sentences),
            **with_interval("best_accuracy", ALONG, best.weight.interval()),
            **with_interval("baseline_unlinked", ALONG, best.null.interval()),
            **with_interval("gain", ALONG, best.weight.above(best.null)),
        }


def _by_text(values: Tensor, gold: GoldPairs, texts: int) -> Tensor:
    """[B, H, direction, link] from [link of the batch, H, direction]."""
    table = values.new_full((texts, gold.slots, *values.shape[1:]), torch.nan)
    table[gold.text, gold.slot] = values
    return table.permute(0, 2, 3, 1)


@dataclass(frozen=True)
class FrameLinks(Kind):
    """Of a table with text, target and fes, or of a copy of FrameNet."""

    name: ClassVar[str] = "frames"
    elements: str = "core"
    """`core`; `any`, where the data does not say which are core; `strict`, as the paper's code does."""

    def __post_init__(self) -> None:
        one_of("elements", self.elements, ELEMENTS)

    def read(self, data: str | Path | InMemory, tokenizer: Any, longest: int) -> list[FrameSentence]:
        return filter_links(read_frames(data), self.elements)

    def ask(self, sentences: Sentences, layout: Layout, source: str, control: bool) -> Frames:
        pairs = find_pairs(sentences.annotated, sentences.known, sentences.words)
        kept = sentences.annotated[0].kept
        return Frames(pairs, kept, sentences.inputs.ids, layout, source, control)
