"""What kind of token stands where: special ones, punctuation, sentences, words, word classes and links between words.

The facts of one text are plain lists (`Facts`); those of a batch are tensors (`Marks`), padded as the batch is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from headcount.data.annotations import Annotated, word_classes, word_links

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


def find_facts(row: dict[str, Any], tokenizer: Any, words: Sequence[Any], sentence: Annotated | None = None) -> Facts:
    """The facts of one encoding; `words` gives the word number of each token (None for special ones).

    The words of a pair are told apart by their segments.
    """
    ids: list[int] = list(row["input_ids"])
    pieces = tokenizer.convert_ids_to_tokens(ids)
    segment = list(row.get("token_type_ids") or [0] * len(ids))
    special = set(tokenizer.all_special_ids)
    bare = [piece.lstrip("Ġ▁").removeprefix("##") for piece in pieces]
    marks = [place for place, piece in enumerate(bare) if piece in PUNCTUATION]
    classes = {"punctuation": marks, "first": [0] if ids else []}
    if tokenizer.cls_token_id is not None:
        classes["cls"] = [place for place, number in enumerate(ids) if number == tokenizer.cls_token_id]
    if tokenizer.sep_token_id is not None:
        classes["sep"] = [place for place, number in enumerate(ids) if number == tokenizer.sep_token_id]
    outside = {place for place, number in enumerate(ids) if number in special}
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


def mark(facts: Sequence[Facts], device: Any = "cpu") -> Marks:
    """The facts of some texts as tensors of a batch, padded on the right."""
    width = max(one.length for one in facts)
    size = (len(facts), width)
    real, segment, form = torch.zeros(size), torch.full(size, -1), torch.full(size, -1)
    names = list(dict.fromkeys(name for one in facts for name in one.classes))
    classes = torch.zeros(len(names), *size)
    for number, one in enumerate(facts):
        real[number, : one.length] = 1
        segment[number, : one.length] = torch.tensor(one.segment)
        form[number, : one.length] = torch.tensor(one.form)
        for place, name in enumerate(names):
            classes[place, number, one.classes.get(name, [])] = 1
    links = {}
    for name in dict.fromkeys(name for one in facts for name in one.links):
        links[name] = _links([one.links.get(name, []) for one in facts], device)
        links[f"{name} control"] = _controls(facts, name, device)
    return Marks(
        real.to(device), segment.to(device), form.to(device),
        {name: classes[place].to(device) for place, name in enumerate(names)}, links,
    )  # fmt: skip


def _links(by_example: list[list[tuple[list[int], list[int]]]], device: Any) -> Links:
    """From a word: the mean over its pieces; to a word: the sum over its pieces."""
    entries = [
        (example, source, target, 1 / (len(sources) * len(pairs)))
        for example, pairs in enumerate(by_example)
        for sources, targets in pairs
        for source in sources
        for target in targets
    ]
    return _as_links(entries, device)


def _controls(facts: Sequence[Facts], name: str, device: Any) -> Links:
    """For every link the same offset from all other words of its text that have a word there."""
    entries = []
    for example, one in enumerate(facts):
        pairs = one.links.get(name, [])
        words = set(range(one.length)) - set(one.classes["special"])
        linked = {source for sources, _ in pairs for source in sources}
        found = []
        for sources, targets in pairs:
            offset = targets[0] - sources[0]
            found.append([place for place in words - linked if place + offset in words])
        usable = [(places, pair) for places, pair in zip(found, pairs, strict=True) if places]
        for places, (sources, targets) in usable:
            offset = targets[0] - sources[0]
            share = 1 / (len(places) * len(usable))
            entries += [(example, place, place + offset, share) for place in places]
    return _as_links(entries, device)


def _as_links(entries: list[tuple[int, int, int, float]], device: Any) -> Links:
    columns = list(zip(*entries, strict=True)) if entries else [(), (), (), ()]
    example, source, target = (torch.tensor(column, dtype=torch.long, device=device) for column in columns[:3])
    return Links(example, source, target, torch.tensor(columns[3], dtype=torch.float32, device=device))
