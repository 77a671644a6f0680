"""Does a head attend from mentions to their antecedents, or the other way round? (Clark et al. 2019, section 4.3)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
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
from headcount.data.coreference.read import read_coreference
from headcount.data.in_memory import InMemory
from headcount.measures.contract import Setting, Values
from headcount.probing.coreference.antecedents import CANDIDATES, Asked, Cases, find_cases
from headcount.probing.coreference.excerpts import cut_excerpt
from headcount.probing.coreference.sieve import RULES
from headcount.probing.coreference.windows import Window, cut_documents
from headcount.probing.selection.accuracies import halves
from headcount.probing.selection.baselines import Baselines, baseline, evaluate_rule, select_rule
from headcount.probing.selection.relations import best_heads, every_head
from headcount.probing.words.contract import Arc, Kind, SeenWords, WordQuestion
from headcount.probing.words.sentences import Sentences

DIRECTIONS = ("mention to antecedent", "antecedent to mention")
SURFACE = ("nearest", "head_match")
"""The rules that look at one thing only: `gain` is what a head gets above the better of them."""
SHARE = "share of the mentions"
SCHEMAS = {
    "accuracy": Schema(
        "Attends to the antecedent",
        SHARE,
        "1: the most attended word is always the head word of an antecedent",
        (0, 1),
        shown=False,
    ),
    "relation_gain": Schema(
        "Finds antecedents, above the nearest mention and the same head word",
        SHARE,
        "above 0: right more often than the better of the two rules, for the kind of mention it is best at",
        signed=True,
        most="finds antecedents furthest beyond the nearest mention and the same head word",
        role="coreference",
        role_from=SYNTACTIC,
    ),
    "best_accuracy": Schema("Best head", SHARE, range=(0, 1), shown=False),
    "baseline_nearest": baseline("Nearest mention", SHARE),
    "baseline_head_match": baseline("Same head word, else nearest", SHARE),
    "baseline_rules": baseline("Rule sieve", SHARE),
    "baseline_random_weights": baseline("Random weights", SHARE),
    "gain": Schema("Best head above the nearest mention and the same head word", SHARE, signed=True, shown=False),
}


class Coreference(WordQuestion):
    """For each kind of mention and both directions, how often a head connects a mention with one of its antecedents.

    `mention to antecedent` asks for the word that the mention's head word attends to most; `antecedent to mention` for
    the word that attends to it most: right where that is the head word of an earlier mention of the same entity.
    """

    name, summary, paper = "coreference", "how often the most attended word is an antecedent", "Clark 2019, 4.3"
    category, schemas = "Coreference", SCHEMAS
    excerpts = True

    def __init__(self, sentences: Sentences, among: str, layout: Layout, source: str, control: bool) -> None:
        super().__init__(source, control)
        windows: list[Window] = sentences.annotated
        self.cases: Cases = find_cases(windows, sentences.known)
        self.documents = np.array([window.document for window in windows])
        self.ids, self.known = sentences.inputs.ids, sentences.known
        self.among, self.layout = among, layout
        self.left_out = dict(windows[0].left_out)

    @property
    def lost(self) -> dict[str, int]:
        return {**self.cases.lost, **{f"texts in which {reason}": count for reason, count in self.left_out.items()}}

    def counts(self) -> dict[str, tuple[str, ...]]:
        return {"hits": ("direction", "relation")}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"direction": list(DIRECTIONS), "relation": list(self.cases.relations)}

    def notes(self) -> dict[str, Any]:
        mentions = fingerprint([[astuple(case) for case in several] for several in self.cases.cases])
        return {
            **super().notes(),
            "candidates": self.among,
            "mentions": mentions,
            "documents": len(np.unique(self.documents)),
        }

    def batch(self, numbers: Sequence[int], words: int, device: Any) -> Asked:
        return self.cases.batch(numbers, self.known, words, self.among, device)

    def see(self, seen: SeenWords) -> Values:
        asked: Asked = seen.gold
        chosen = self._most_attended(seen)
        right = asked.antecedents[:, None, None].expand(*chosen.shape, -1).gather(-1, chosen[..., None])[..., 0]
        if seen.causal:
            right[:, :, 1] = False
        return {"hits": right.to(asked.labels.dtype) @ asked.labels[:, None]}

    def _most_attended(self, seen: SeenWords) -> Tensor:
        """[B, H, direction, C]: the word that a head connects each mention with."""
        asked: Asked = seen.gold
        forbidden = ~asked.allowed[:, None]
        tables = (seen.from_words(asked.words), seen.to_words(asked.words))
        return torch.stack([table.masked_fill(forbidden, -1).max(-1).indices for table in tables], 2)

    def predicted(self, seen: SeenWords) -> Tensor:
        asked: Asked = seen.gold
        chosen = self._most_attended(seen)
        words = chosen.new_zeros((*chosen.shape[:3], asked.allowed.shape[-1]))
        # Where a window has fewer cases than others, the rest would overwrite those of its first word.
        real = asked.labels[:, :, 0] > 0
        for text in range(len(chosen)):
            words[text][..., asked.words[text, real[text]]] = chosen[text][..., real[text]]
        return words

    def true_arcs(self, number: int, relation: str, direction: int) -> list[tuple[int, tuple[int, ...]]]:
        """Each mention with its antecedents, the nearest first; under a causal mask there is one direction only."""
        labels = self.cases.labels(number)[:, self.cases.relations.index(relation)]
        pairs = zip(self.cases.cases[number], labels, strict=True)
        return [(case.word, case.antecedents[::-1]) for case, label in pairs if label]

    def shown(self, number: int, words: Sequence[str], arcs: list[Arc]) -> tuple[list[str], list[Arc]]:
        """The surroundings of one mention."""
        return cut_excerpt(words, arcs[number % len(arcs)])

    def held_out(self, ids: np.ndarray, seed: int) -> np.ndarray:
        selecting = halves(len(np.unique(self.documents)), seed)
        number_of = np.unique(self.documents, return_inverse=True)[1]
        numbers: np.ndarray = np.flatnonzero(~selecting[number_of])
        return numbers

    def whole(self, values: dict[str, np.ndarray], seed: int) -> Labelled:
        documents = self.documents[np.argsort(self.ids)]

        def by_document(array: np.ndarray) -> np.ndarray:
            return np.stack([array[documents == number].sum(0) for number in np.unique(documents)])

        order = np.argsort(self.ids)
        counted, rule_hits = by_document(self.cases.counted()[order]), by_document(self.cases.rule_hits()[order])
        hits = by_document(values["hits"])
        # Under a causal mask the antecedent does not see the mention.
        ways = np.array([1, not causal_stacks(list(self.layout.stacks))])[:, None]
        seen = counted[:, None] * ways
        rules = evaluate_rules(rule_hits[:, :, None] * ways, seen, halves(len(seen), seed), seed)
        random = by_document(values["random_hits"]) if "random_hits" in values else None
        best = best_heads(hits, rules, self.layout, seed, random)
        dims, rule = best.pop("best_rule")
        named = np.array([SURFACE[number] if number >= 0 else "" for number in rule], dtype=object)
        return {**every_head(hits, seen, seed), **best, "best_baseline": (dims, named)}


def evaluate_rules(hits: np.ndarray, cases: np.ndarray, selecting: np.ndarray, seed: int) -> Baselines:
    """From the hits [document, rule, direction, relation] of `RULES` and the cases [document, direction, relation]."""
    best, selected = select_rule(hits[:, [list(RULES).index(name) for name in SURFACE]], cases, selecting, seed)
    baselines = {
        f"baseline_{name}": evaluate_rule(hits[:, number], cases, selecting, seed) for number, name in enumerate(RULES)
    }
    return Baselines(best, baselines, selected, cases, selecting, DIRECTIONS)


@dataclass(frozen=True)
class CoreferentMentions(Kind):
    """Of a CoNLL-2012 file, or of the tables of LitBank and GAP."""

    name: ClassVar[str] = "coreference"
    least: ClassVar[int] = 1
    """Windows: that there are two documents is checked where they are known."""
    candidates: str = "words"
    """A head chooses among all other `words`, or among the head words of earlier `mentions`, as the baselines do."""

    def __post_init__(self) -> None:
        one_of("candidates", self.candidates, CANDIDATES)

    def read(self, data: str | Path | InMemory, tokenizer: Any, longest: int) -> list[Window]:
        return cut_documents(read_coreference(data), tokenizer, longest)

    def ask(self, sentences: Sentences, layout: Layout, source: str, control: bool) -> Coreference:
        return Coreference(sentences, self.candidates, layout, source, control)
