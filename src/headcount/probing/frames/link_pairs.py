"""The pairs of words of each link, and the unlinked pairs at the same distance in the same sentence to compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.core.probe_names import ALL
from headcount.core.provenance import fingerprint
from headcount.data.frame_links import FrameSentence, Link
from headcount.errors import DataProblem

LEAST = 30
"""Sentences with comparable links that an element needs to be looked at alone."""
Pairs = list[tuple[int, int]]
"""Words of an element and of a target."""


@dataclass(frozen=True)
class Blocks:
    """One link: the pairs of its words, and those pairs shifted to where nothing is linked."""

    link: Link
    pairs: Pairs
    unlinked: list[Pairs]
    alike: list[tuple[bool, bool]]
    """Of each of those, whether it is comparable with the link: from element to target, from target to element."""


@dataclass(frozen=True)
class GoldPairs:
    """The blocks of the links of some texts of a batch: [link, block, pair], the link's own block first."""

    text: Tensor
    slot: Tensor
    """[link]: which text, and which of its links."""
    element: Tensor
    target: Tensor
    real: Tensor
    """[link, block, direction]: whether the link has such a block, and may be compared with it."""
    after: Tensor
    """[link]: whether the element comes after the target."""
    slots: int


@dataclass(frozen=True)
class FramePairs:
    """Of some sentences, the links whose words are all known."""

    blocks: tuple[tuple[Blocks, ...], ...]
    relations: tuple[str, ...]
    """`ALL`, then the names of elements that enough sentences have."""
    unknown: int
    """Links that are left out because the tokenizer drops or merges one of their words."""

    @property
    def slots(self) -> int:
        """The most links of a sentence."""
        return max(map(len, self.blocks))

    def incomparable(self) -> list[int]:
        """In each direction, how many links have no unlinked pairs to compare with."""
        return [
            sum(not any(alike[way] for alike in block.alike) for blocks in self.blocks for block in blocks)
            for way in (0, 1)
        ]

    def named(self) -> np.ndarray:
        """[sentence, link, relation]: whether a link is there and has an element of that name."""
        table = np.zeros((len(self.blocks), self.slots, len(self.relations)), dtype=bool)
        for sentence, blocks in enumerate(self.blocks):
            for slot, block in enumerate(blocks):
                table[sentence, slot] = [name == ALL or name in block.link.names for name in self.relations]
        return table

    def digest(self) -> str:
        """Equal for equal links and unlinked pairs."""
        return fingerprint([self.relations, *(repr(blocks) for blocks in self.blocks)])

    def batch(self, numbers: Sequence[int], device: Any) -> GoldPairs:
        """The blocks of some sentences as arrays; a shorter block repeats its first pair, which no maximum notices."""
        chosen = [
            (row, slot, block) for row, number in enumerate(numbers) for slot, block in enumerate(self.blocks[number])
        ]
        most = max((1 + len(block.unlinked) for _, _, block in chosen), default=1)
        longest = max((len(block.pairs) for _, _, block in chosen), default=1)
        pairs = np.zeros((len(chosen), most, longest, 2), dtype=np.int64)
        real = np.zeros((len(chosen), most, 2), dtype=bool)
        for at, (_, _, block) in enumerate(chosen):
            for number, several in enumerate([block.pairs, *block.unlinked]):
                pairs[at, number] = several + several[:1] * (longest - len(several))
                real[at, number] = block.alike[number - 1] if number else True
        after = [block.link.after_target for _, _, block in chosen]
        text, slot = (np.array([entry[part] for entry in chosen], dtype=np.int64) for part in (0, 1))

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        element, target = tensor(pairs[..., 0]), tensor(pairs[..., 1])
        later = tensor(np.array(after, dtype=bool))
        return GoldPairs(tensor(text), tensor(slot), element, target, tensor(real), later, self.slots)


def find_pairs(
    sentences: Sequence[FrameSentence], known: Sequence[Sequence[bool]], tokens: Sequence[Sequence[int | None]]
) -> FramePairs:
    """The blocks of some sentences; a link one of whose words is not `known` is left out.

    `tokens`: the word of each token of a sentence.
    """
    blocks = tuple(
        tuple(
            _blocks(sentence, link, flags, Counter(words))
            for link in sentence.links
            if all(flags[word] for word in link.element + link.target)
        )
        for sentence, flags, words in zip(sentences, known, tokens, strict=True)
    )
    if not any(blocks):
        raise DataProblem("the tokenizer drops or merges words of every link; expected links between known words")
    comparable = ([block.link.names for block in several if block.unlinked] for several in blocks)
    counts = Counter(name for several in comparable for name in {name for names in several for name in names})
    names = sorted(name for name, count in counts.items() if count >= LEAST and name != ALL)
    unknown = sum(len(sentence.links) for sentence in sentences) - sum(map(len, blocks))
    return FramePairs(blocks, (ALL, *names), unknown)


def _blocks(sentence: FrameSentence, link: Link, known: Sequence[bool], pieces: Mapping[int | None, int]) -> Blocks:
    """A block is a link's pairs shifted by some words.

    It must lie in the sentence, hold no pair that any annotation links, and no punctuation, which no link is made of.
    Attention to a word is the sum over its pieces, and predicates have more pieces than other words: even with uniform
    attention they would get more. So a block is comparable in a direction only if the longest of the words that are
    attended to has as many pieces as that of the link.
    """
    pairs = [(element, target) for element in link.element for target in link.target]
    words = (*link.element, *link.target)
    usable = [flag and any(map(str.isalnum, word)) for word, flag in zip(sentence.words, known, strict=True)]

    def longest(attended: Sequence[int], shift: int) -> int:
        return max(pieces[word + shift] for word in attended)

    unlinked, alike = [], []
    for shift in range(-min(words), len(sentence.words) - max(words)):
        moved = [(element + shift, target + shift) for element, target in pairs]
        linked = any((min(pair), max(pair)) in sentence.linked for pair in moved)
        to_target, to_element = (longest(part, shift) == longest(part, 0) for part in (link.target, link.element))
        if shift and not linked and all(usable[word + shift] for word in words) and (to_target or to_element):
            unlinked.append(moved)
            alike.append((to_target, to_element))
    return Blocks(link, pairs, unlinked, alike)
