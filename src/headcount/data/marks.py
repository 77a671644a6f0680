"""What kind of token stands where: special ones, punctuation, sentences, words, word classes and links between words.

The facts of one text are plain lists (`Facts`); those of a batch are tensors (`Marks`), padded as the batch is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.data.annotations import Annotated, word_classes, word_links
from headcount.data.kinds.texts import PLAIN

PUNCTUATION = frozenset(".,。、")
TEXTS = ("text 1", "text 2")
"""The classes of the tokens of a pair's texts, [CLS] and [SEP] aside."""


@dataclass(frozen=True)
class Facts:
    """About the tokens of one text: a class is a list of places, a link is (from places, to places)."""

    length: int
    segment: list[int]
    form: list[int]
    """A number for the word that a token is part of, the same for the same word; -1 for special tokens and marks."""
    classes: dict[str, list[int]] = field(default_factory=dict)
    links: dict[str, list[tuple[list[int], list[int]]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Links:
    """Entries of attention maps, and how much each counts in the mean of its text: tensors of one length."""

    example: Tensor
    source: Tensor
    target: Tensor
    weight: Tensor


@dataclass(frozen=True)
class Marks:
    """About the tokens of a batch [example, token]."""

    real: Tensor
    segment: Tensor
    form: Tensor
    classes: dict[str, Tensor]
    links: dict[str, Links]
    """By name; `... control` holds the same offsets at all other words of the text."""


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
    row: dict[str, Any], known: VocabularyIds, words: Sequence[Any], sentence: Annotated | None = None
) -> Facts:
    """The facts of one encoding; `words` gives the word number of each token (None for special ones).

    The words of a pair are told apart by their segments.
    """
    ids: list[int] = list(row["input_ids"])
    segment = list(row.get("token_type_ids") or [0] * len(ids))
    marks = [place for place, number in enumerate(ids) if number in known.marks]
    classes = {"punctuation": marks, "first": [0] if ids else []}
    if known.cls is not None:
        classes["cls"] = [place for place, number in enumerate(ids) if number == known.cls]
    if known.sep is not None:
        classes["sep"] = [place for place, number in enumerate(ids) if number == known.sep]
    outside = {place for place, number in enumerate(ids) if number in known.special}
    classes["special"] = sorted(outside)
    taken = outside | set(marks)
    classes["other"] = [place for place in range(len(ids)) if place not in taken]
    for number, name in enumerate(TEXTS):
        classes[name] = [place for place, kind in enumerate(segment) if kind == number and place not in outside]
    form = [-1] * len(ids)
    by_word: dict[tuple[int, Any], list[int]] = {}
    for place, word in enumerate(words):
        if word is not None and place not in taken:
            by_word.setdefault((segment[place], word), []).append(place)
    for places in by_word.values():
        number = hash(tuple(ids[place] for place in places)) % (2**62)
        for place in places:
            form[place] = number
    links: dict[str, list[tuple[list[int], list[int]]]] = {}
    if sentence is not None:
        at = _word_places(words, outside)
        for name, members in word_classes(sentence).items():
            classes[name] = sorted(place for word in members for place in at.get(word, []))
        for name, pairs in word_links(sentence).items():
            one, other = name.split("-")
            found = [(at[a], at[b]) for a, b in pairs if a in at and b in at]
            links[f"{one} to {other}"] = found
            links[f"{other} to {one}"] = [(b, a) for a, b in found]
    return Facts(len(ids), segment, form, classes, links)


def _word_places(words: Sequence[Any], outside: set[int]) -> dict[int, list[int]]:
    at: dict[int, list[int]] = {}
    for place, word in enumerate(words):
        if word is not None and place not in outside:
            at.setdefault(word, []).append(place)
    return at


def mark(facts: Sequence[Facts], device: Any = "cpu", links: bool = True) -> Marks:
    """The facts of some texts as tensors of a batch, padded on the right; `links` can be left out."""
    size = (len(facts), max(one.length for one in facts))
    real = np.zeros(size, dtype=np.float32)
    segment, form = np.full(size, -1), np.full(size, -1)
    names = list(dict.fromkeys(name for one in facts for name in one.classes))
    classes = np.zeros((len(names), *size), dtype=np.float32)
    for number, one in enumerate(facts):
        real[number, : one.length] = 1
        segment[number, : one.length] = one.segment
        form[number, : one.length] = one.form
        for place, name in enumerate(names):
            found = one.classes.get(name)
            if found:
                classes[place, number, found] = 1
    tensors = torch.from_numpy(classes).to(device)
    linked: dict[str, Links] = {}
    for name in dict.fromkeys(name for one in facts for name in one.links) if links else ():
        linked[name] = _links([one.links.get(name, []) for one in facts], device)
        linked[f"{name} control"] = _controls(facts, name, device)
    real_, segment_, form_ = (torch.from_numpy(array).to(device) for array in (real, segment, form))
    return Marks(real_, segment_, form_, dict(zip(names, tensors, strict=True)), linked)


Entries = list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
"""Examples, sources, targets and weights, part by part."""


def _links(by_example: list[list[tuple[list[int], list[int]]]], device: Any) -> Links:
    """From a word: the mean over its pieces; to a word: the sum over its pieces."""
    entries: Entries = []
    for example, pairs in enumerate(by_example):
        for sources, targets in pairs:
            source, target = np.repeat(sources, len(targets)), np.tile(targets, len(sources))
            entries.append(_part(example, source, target, 1 / (len(sources) * len(pairs))))
    return _as_links(entries, device)


def _controls(facts: Sequence[Facts], name: str, device: Any) -> Links:
    """For every link the same offset from all other words of its text that have a word there."""
    entries: Entries = []
    for example, one in enumerate(facts):
        pairs = one.links.get(name, [])
        if not pairs:
            continue
        word = np.ones(one.length, dtype=bool)
        word[one.classes["special"]] = False
        free = word.copy()
        free[[source for sources, _ in pairs for source in sources]] = False
        starts = np.flatnonzero(free)
        found = []
        for sources, targets in pairs:
            ends = starts[:, None] + (np.array(targets) - sources[0])
            inside = (ends >= 0) & (ends < one.length)
            inside[inside] = word[ends[inside]]
            whole = inside.all(1)  # as many tokens as the link's own end has pieces
            if whole.any():
                found.append((starts[whole], ends[whole]))
        for start, end in found:
            weight = 1 / (len(start) * len(found))
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
