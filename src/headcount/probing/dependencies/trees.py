"""The dependencies that heads are compared with: each word's head and relations, and what fixed offsets would say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.core.probe_names import ALL
from headcount.data.annotations import Annotated, base_relation
from headcount.errors import DataProblem, InvalidOption, listed, short
from headcount.probing.selection.baselines import LEAST_CASES

LEFT_OUT = ("punct", "root")
"""No cases: punctuation, as in the paper, and the root, which has no head."""
DIRECTIONS = ("dependent to head", "head to dependent")
OFFSETS = (*range(-8, 0), *range(1, 9))
"""The fixed-offset baselines: the head is always the word so many places after the dependent."""
NO_HEAD = -1


@dataclass(frozen=True)
class Trees:
    """Of some sentences, each word's head (`NO_HEAD` where it is no case) and the numbers of its relations."""

    relations: tuple[str, ...]
    """`ALL`, whose accuracy is the unlabelled attachment score, then the relations by name.

    `nsubj` holds `nsubj:pass` too, which may be looked at by itself as well.
    """
    heads: tuple[np.ndarray, ...]
    labels: tuple[np.ndarray, ...]
    """[word, relation], 0 or 1."""

    def cases(self, causal: bool) -> np.ndarray:
        """[sentence, direction, relation]: how many there are.

        Where attention is causal, a word sees only those before it: the first direction then has the cases whose head
        comes before, the second those whose head comes after.
        """
        return np.stack([self._counted(number, _visible(heads, causal)) for number, heads in enumerate(self.heads)])

    def offset_hits(self, causal: bool) -> np.ndarray:
        """[sentence, offset, direction, relation]: for how many of the `cases` the word at an offset is the head."""
        hits = []
        for number, heads in enumerate(self.heads):
            distance = np.where(heads == NO_HEAD, 0, heads - np.arange(len(heads)))
            right = np.array([distance == offset for offset in OFFSETS])
            hits.append(self._counted(number, right[:, None] & _visible(heads, causal)))
        return np.stack(hits)

    def _counted(self, number: int, chosen: np.ndarray) -> np.ndarray:
        counted: np.ndarray = chosen.astype(np.float32) @ self.labels[number]
        return counted

    def arcs(self, number: int, relation: str, direction: int, causal: bool) -> list[tuple[int, int]]:
        """Of a sentence, the dependents of a relation that are `cases` in a direction, with their heads."""
        visible = _visible(self.heads[number], causal)[direction]
        chosen = np.flatnonzero(self.labels[number][:, self.relations.index(relation)] * visible)
        return [(int(word), int(self.heads[number][word])) for word in chosen]

    def batch(self, numbers: Sequence[int], words: int, device: Any) -> tuple[Tensor, Tensor]:
        """The heads [B, N] and relations [B, N, R] of some sentences, for `words` words."""
        heads = np.full((len(numbers), words), NO_HEAD)
        labels = np.zeros((len(numbers), words, len(self.relations)), dtype=np.float32)
        for row, number in enumerate(numbers):
            size = min(len(self.heads[number]), words)
            heads[row, :size] = self.heads[number][:size]
            labels[row, :size] = self.labels[number][:size]
        return torch.from_numpy(heads).to(device), torch.from_numpy(labels).to(device)


def _visible(heads: np.ndarray, causal: bool) -> np.ndarray:
    """[direction, word]: the cases that a head can get right."""
    cases = heads != NO_HEAD
    if not causal:
        return np.array([cases, cases])
    words = np.arange(len(heads))
    return np.array([cases & (heads < words), cases & (heads > words)])


def read_trees(
    sentences: Sequence[Annotated], known: Sequence[Sequence[bool]], only: Sequence[str] | None = None
) -> Trees:
    """The trees of some sentences; a word that is not `known`, or whose head is not, is no case.

    `only`: these relations, however rare; otherwise all with at least `LEAST_CASES`.
    """
    heads = []
    for sentence, flags in zip(sentences, known, strict=True):
        check_tree(sentence)
        heads.append(
            np.array(
                [
                    head - 1 if base_relation(deprel) not in LEFT_OUT and flags[word] and flags[head - 1] else NO_HEAD
                    for word, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True))
                ],
                dtype=np.int64,
            )
        )
    named = [[_names(deprel) for deprel in sentence.deprels] for sentence in sentences]
    counts = Counter(
        name
        for names, gold in zip(named, heads, strict=True)
        for word, several in enumerate(names)
        if gold[word] != NO_HEAD
        for name in several
    )
    if not counts:
        raise DataProblem("the sentences have no dependencies but roots and punctuation; expected heads and deprels")
    relations = (ALL, *_chosen(counts, only))
    index = {name: number for number, name in enumerate(relations)}
    labels = []
    for names, gold in zip(named, heads, strict=True):
        table = np.zeros((len(names), len(relations)), dtype=np.float32)
        for word, several in enumerate(names):
            if gold[word] != NO_HEAD:
                table[word, [0, *(index[name] for name in several if name in index)]] = 1
        labels.append(table)
    return Trees(relations, tuple(heads), tuple(labels))


def _chosen(counts: Counter[str], only: Sequence[str] | None) -> list[str]:
    if only is None:
        return sorted(name for name, count in counts.items() if count >= LEAST_CASES)
    for name in only:
        if name not in counts:
            known = listed([relation for relation, _ in counts.most_common()])
            raise InvalidOption(f"got the relation {name!r}, which never occurs; the sentences have {known}")
    return list(dict.fromkeys(only))


def _names(deprel: str) -> tuple[str, ...]:
    return (deprel,) if deprel == base_relation(deprel) else (base_relation(deprel), deprel)


def check_tree(sentence: Annotated) -> None:
    """An error where the heads go round in a circle: every word must lead to a root."""
    free: set[int] = set()
    for start in range(len(sentence.heads)):
        path: list[int] = []
        word = start
        while word not in free and word not in path:
            path.append(word)
            if not sentence.heads[word]:
                break
            word = sentence.heads[word] - 1
        else:
            if word in path:
                circle = " <- ".join(short(sentence.words[number]) for number in path[path.index(word) :][:4])
                raise DataProblem(
                    f"sentence {sentence.name}: the heads go round in a circle ({circle}); expected a tree; fix it"
                )
        free |= set(path)
