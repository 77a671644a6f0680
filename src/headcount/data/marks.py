"""The tokens of a text by class: special tokens, punctuation, segments, word classes, and links between words.

For a single text these are plain lists (`Facts`); for a batch they are tensors (`Marks`), padded like the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from headcount.data.annotations import Annotated, word_classes, word_links
from headcount.data.kinds.texts import PLAIN
from headcount.data.occurrences import Matches, earlier_matches, matches_across

T = TypeVar("T")
PUNCTUATION = frozenset(".,。、")
TEXTS = ("text 1", "text 2")
"""The classes of the tokens of a pair's texts, without [CLS] and [SEP]."""


@dataclass(frozen=True)
class Facts:
    """The tokens of one text: a class is a list of positions, a link is (positions from, positions to)."""

    length: int
    segment: list[int]
    form: list[int]
    """A number for the word that a token is part of, equal for equal words; -1 for special tokens and punctuation."""
    classes: dict[str, list[int]] = field(default_factory=dict)
    links: dict[str, list[tuple[list[int], list[int]]]] = field(default_factory=dict)
    token: list[int] = field(default_factory=list)
    """The ids of the tokens, -1 for special ones; empty where nobody asks which tokens are the same."""


@dataclass(frozen=True)
class Links:
    """Entries of attention maps, and the weight of each in the mean of its text: tensors of one length."""

    example: Tensor
    source: Tensor
    target: Tensor
    weight: Tensor


@dataclass(frozen=True)
class Marks:
    """The tokens of a batch, as tensors [example, token]."""

    real: Tensor
    segment: Tensor
    form: Tensor
    classes: dict[str, Tensor]
    links: dict[str, Links]
    """By name; `... control` holds the same offsets at all other words of the text."""
    token: Tensor
    """Ids; -1 for special tokens and padding."""

    @cached_property
    def readable(self) -> Tensor:
        """Bool: the tokens that are not special and not the first, where many heads park their attention."""
        readable = self.token >= 0
        readable[:, :1] = False
        return readable

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What depends on the tokens alone, computed once for all layers of a pass."""
        if name not in self._kept:
            self._kept[name] = compute()
        value: T = self._kept[name]
        return value

    def earlier(self, distance: int = 0) -> Matches:
        """For each token, the readable ones before it that stand `distance` after the same token."""
        return self.once(f"earlier {distance}", lambda: earlier_matches(self.token, self.readable, distance))

    @cached_property
    def across(self) -> Matches:
        """For each word of a pair of texts, the tokens of the same word in the other text."""
        return matches_across(self.form, self.segment)


@dataclass(frozen=True)
class VocabularyIds:
    """Which ids of a vocabulary are special tokens and punctuation."""

    special: frozenset[int]
    marks: frozenset[int]
    cls: int | None
    sep: int | None

    @classmethod
    def of(cls, tokenizer: Any) -> VocabularyIds:
        pieces = tokenizer.get_vocab().items()
        marks = frozenset(number for piece, number in pieces if piece.lstrip("Ġ▁").removeprefix("##") in PUNCTUATION)
        return cls(frozenset(PLAIN.special_ids(tokenizer)), marks, tokenizer.cls_token_id, tokenizer.sep_token_id)


def find_facts(
    row: dict[str, Any],
    known: VocabularyIds,
    words: Sequence[Any],
    sentence: Annotated | None = None,
    texts: Sequence[int] | None = None,
) -> Facts:
    """The facts of one encoding; `words` are the word numbers of the tokens (None for special tokens).

    `texts`: which text of a pair each token belongs to, by which its words are distinguished; its segment if None.
    """
    ids: list[int] = list(row["input_ids"])
    segment = list(row.get("token_type_ids") or [0] * len(ids) if texts is None else texts)

    def positions(members: Collection[int | None]) -> list[int]:
        return [position for position, number in enumerate(ids) if number in members]

    special, punctuation = set(positions(known.special)), positions(known.marks)
    plain = set(range(len(ids))) - special - set(punctuation)
    classes = {"punctuation": punctuation, "first": [0] if ids else []}
    if known.cls is not None:
        classes["cls"] = positions([known.cls])
    if known.sep is not None:
        classes["sep"] = positions([known.sep])
    classes |= {"special": sorted(special), "other": sorted(plain)}
    for number, name in enumerate(TEXTS):
        classes[name] = [at for at, text in enumerate(segment) if text == number and at not in special]
    pieces_of: dict[int, list[int]] = {}
    pieces_by_text: dict[tuple[int, int], list[int]] = {}
    for at, word in enumerate(words):
        if word is not None and at not in special:
            pieces_of.setdefault(word, []).append(at)
            if at in plain:
                pieces_by_text.setdefault((segment[at], word), []).append(at)
    form = [-1] * len(ids)
    for pieces in pieces_by_text.values():
        number = hash(tuple(ids[piece] for piece in pieces)) % (2**62)
        for piece in pieces:
            form[piece] = number
    links: dict[str, list[tuple[list[int], list[int]]]] = {}
    if sentence is not None:
        for name, members in word_classes(sentence).items():
            classes[name] = sorted(piece for word in members for piece in pieces_of.get(word, []))
        for name, pairs in word_links(sentence).items():
            first, second = name.split("-")
            linked = [(pieces_of[a], pieces_of[b]) for a, b in pairs if a in pieces_of and b in pieces_of]
            links[f"{first} to {second}"] = linked
            links[f"{second} to {first}"] = [(b, a) for a, b in linked]
    token = [-1 if at in special else number for at, number in enumerate(ids)]
    return Facts(len(ids), segment, form, classes, links, token)


def mark(facts: Sequence[Facts], device: Any = "cpu", links: bool = True) -> Marks:
    """The facts of some texts as tensors of a batch, padded on the right, with or without `links`."""
    size = (len(facts), max(text.length for text in facts))
    real = np.zeros(size, dtype=np.float32)
    segment, form, token = (np.full(size, -1) for _ in range(3))
    names = list(dict.fromkeys(name for text in facts for name in text.classes))
    classes = np.zeros((len(names), *size), dtype=np.float32)
    for number, text in enumerate(facts):
        real[number, : text.length] = 1
        segment[number, : text.length] = text.segment
        form[number, : text.length] = text.form
        token[number, : len(text.token)] = text.token
        for index, name in enumerate(names):
            classes[index, number, text.classes.get(name, [])] = 1
    linked: dict[str, Links] = {}
    for name in dict.fromkeys(name for text in facts for name in text.links) if links else ():
        linked[name] = _links([text.links.get(name, []) for text in facts], device)
        linked[f"{name} control"] = _controls(facts, name, device)
    arrays = (real, segment, form, classes, token)
    tokens, segments, forms, members, ids = (torch.from_numpy(array).to(device) for array in arrays)
    return Marks(tokens, segments, forms, dict(zip(names, members, strict=True)), linked, ids)


Entries = list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
"""Parts of the tensors of `Links`: examples, sources, targets and weights."""


def _links(by_example: list[list[tuple[list[int], list[int]]]], device: Any) -> Links:
    """Entries for given links: from a word the mean over its pieces, to a word the sum over its pieces."""
    entries: Entries = []
    for example, pairs in enumerate(by_example):
        for sources, targets in pairs:
            source, target = np.repeat(sources, len(targets)), np.tile(targets, len(sources))
            entries.append(_part(example, source, target, 1 / (len(sources) * len(pairs))))
    return _as_links(entries, device)


def _controls(facts: Sequence[Facts], name: str, device: Any) -> Links:
    """Entries for the controls of links: the same offset from all other words of the text that have a word there."""
    entries: Entries = []
    for example, text in enumerate(facts):
        pairs = text.links.get(name, [])
        if not pairs:
            continue
        word = np.ones(text.length, dtype=bool)
        word[text.classes["special"]] = False
        free = word.copy()
        free[[source for sources, _ in pairs for source in sources]] = False
        starts = np.flatnonzero(free)
        controls = []
        for sources, targets in pairs:
            ends = starts[:, None] + (np.array(targets) - sources[0])
            inside = (ends >= 0) & (ends < text.length)
            inside[inside] = word[ends[inside]]
            whole = inside.all(1)  # as many tokens as the link's own end has pieces
            if whole.any():
                controls.append((starts[whole], ends[whole]))
        for start, end in controls:
            weight = 1 / (len(start) * len(controls))
            entries.append(_part(example, np.repeat(start, end.shape[1]), end.ravel(), weight))
    return _as_links(entries, device)


def _part(
    example: int, source: np.ndarray, target: np.ndarray, weight: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return np.full(len(source), example), source, target, np.full(len(source), weight, dtype=np.float32)


def _as_links(entries: Entries, device: Any) -> Links:
    if not entries:
        nothing = torch.zeros(0, dtype=torch.long, device=device)
        return Links(nothing, nothing, nothing, torch.zeros(0, device=device))
    columns = [torch.from_numpy(np.concatenate(column)).to(device) for column in zip(*entries, strict=True)]
    return Links(*columns)
