"""The cases of coreference: mentions with an antecedent in their window, and what simple rules say about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.core.probe_names import ALL
from headcount.data.coreference.documents import Mention
from headcount.data.coreference.mentions import KINDS
from headcount.errors import DataProblem
from headcount.probing.coreference.sieve import RULES, describe
from headcount.probing.coreference.windows import Window

RELATIONS = (ALL, *KINDS)
CANDIDATES = ("words", "mentions")
OUTSIDE = "mentions whose antecedents are all outside of their window"
BROKEN = "mentions in a sentence that had to be cut"
UNKNOWN = "mentions whose head word, or that of every antecedent, has no token of its own"
REPEATED = "mentions inside of another one with the same head word and entity"


@dataclass(frozen=True)
class Case:
    """A mention and the words that it may be connected with."""

    word: int
    """Its head word."""
    kind: str
    antecedents: tuple[int, ...]
    """The head words of the mentions of the same entity before it, the nearest last."""
    earlier: tuple[int, ...]
    """The head words of all mentions before it."""
    right: tuple[bool, ...]
    """Whether each of `RULES` takes an antecedent."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a batch: B windows, at most C cases each, N words."""

    words: Tensor
    """[B, C]: the head word of each case; 0 where there are fewer."""
    allowed: Tensor
    """[B, C, N]: the words that a head may choose among."""
    antecedents: Tensor
    """[B, C, N]: those that are right."""
    labels: Tensor
    """[B, C, relation], 0 or 1; 0 where there are fewer cases."""


@dataclass(frozen=True)
class Cases:
    """Of some windows, in the order in which they were encoded."""

    relations: tuple[str, ...]
    cases: tuple[tuple[Case, ...], ...]
    lost: dict[str, int]
    """How many mentions with an antecedent in the document are no cases, and why."""

    def counted(self) -> np.ndarray:
        """[window, relation]: how many cases there are."""
        return np.stack([self.labels(number).sum(0) for number in range(len(self.cases))])

    def rule_hits(self) -> np.ndarray:
        """[window, rule, relation]: for how many of them each of `RULES` is right."""
        hits = []
        for number, cases in enumerate(self.cases):
            right = np.array([case.right for case in cases], dtype=np.float32).reshape(-1, len(RULES))
            hits.append(right.T @ self.labels(number))
        return np.stack(hits)

    def labels(self, number: int) -> np.ndarray:
        """[case, relation]: 1 for those that a case belongs to."""
        table = np.zeros((len(self.cases[number]), len(self.relations)), dtype=np.float32)
        table[:, 0] = 1
        for row, case in enumerate(self.cases[number]):
            table[row, self.relations.index(case.kind)] = 1
        return table

    def batch(
        self, numbers: Sequence[int], known: Sequence[Sequence[bool]], words: int, among: str, device: Any
    ) -> Asked:
        """Of some windows; `among`: `words` for all that are `known`, or `mentions` for the heads of earlier ones."""
        shape = (len(numbers), max(1, *(len(self.cases[number]) for number in numbers)))
        chosen = np.zeros(shape, dtype=np.int64)
        allowed, antecedents = np.zeros((2, *shape, words), dtype=bool)
        labels = np.zeros((*shape, len(self.relations)), dtype=np.float32)
        for row, number in enumerate(numbers):
            size = len(self.cases[number])
            labels[row, :size] = self.labels(number)
            for at, case in enumerate(self.cases[number]):
                chosen[row, at] = case.word
                antecedents[row, at, list(case.antecedents)] = True
                if among == "mentions":
                    allowed[row, at, list(case.earlier)] = True
                else:
                    allowed[row, at, : len(known[number])] = known[number]
                    allowed[row, at, case.word] = False
        arrays = (torch.from_numpy(array).to(device) for array in (chosen, allowed, antecedents, labels))
        return Asked(*arrays)


def find_cases(windows: Sequence[Window], known: Sequence[Sequence[bool]]) -> Cases:
    """Of every window the mentions that are asked for in it and have an antecedent there; the others are counted.

    Mentions whose head word is not `known` are left out, as cases and as candidates.
    """
    lost = dict.fromkeys((OUTSIDE, BROKEN, UNKNOWN, REPEATED), 0)
    cases = [_cases_of(window, flags, lost) for window, flags in zip(windows, known, strict=True)]
    kinds = {case.kind for several in cases for case in several}
    if not kinds:
        raise DataProblem(
            "no mention has an antecedent in its window; expected some; use longer windows (max_length=) or other texts"
        )
    asking = {window.document for window, several in zip(windows, cases, strict=True) if several}
    if len(asking) < 2:
        raise DataProblem(
            "got one document with antecedents; expected at least two: one half selects the best heads, the other "
            "evaluates"
        )
    return Cases(tuple(name for name in RELATIONS if name == ALL or name in kinds), tuple(cases), lost)


def _cases_of(window: Window, known: Sequence[bool], lost: dict[str, int]) -> tuple[Case, ...]:
    lost[BROKEN] += window.broken
    cases: list[Case] = []
    before: list[Mention] = []
    described = {mention: describe(mention, window.words, window.tags) for mention in window.mentions}
    seen: set[tuple[int, int]] = set()
    for mention, asked in zip(window.mentions, window.asked, strict=True):
        if (mention.head, mention.entity) in seen:
            lost[REPEATED] += asked
            continue
        seen.add((mention.head, mention.entity))
        if not known[mention.head]:
            lost[UNKNOWN] += asked
            continue
        if asked:
            candidates = [other for other in before if other.head < mention.head]
            antecedents = tuple(other.head for other in candidates if other.entity == mention.entity)
            if antecedents:
                views = [described[other] for other in candidates]
                taken = [candidates[rule(described[mention], views)].head for rule in RULES.values()]
                earlier = tuple(other.head for other in candidates)
                right = tuple(word in antecedents for word in taken)
                cases.append(Case(mention.head, mention.kind, antecedents, earlier, right))
            else:
                inside = any(other.entity == mention.entity and other.head < mention.head for other in window.mentions)
                lost[UNKNOWN if inside else OUTSIDE] += 1
        before.append(mention)
    return tuple(cases)
