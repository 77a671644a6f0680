"""Which links between a frame's target and its elements count, by the filter of Kovaleva et al. (2019, section 4.2).

Words are what spaces separate, as in FrameNet's own texts. The paper keeps sentences of at most 12 words, core elements
of at most 3, and elements at least two words away from the target. Its code differs: it wants all of that of *every*
element of an annotation set (`strict` here), and as core it takes what is in one of a frame's core sets, a notion
narrower than core elements. Its 473 annotation sets are therefore fewer than the paper's own words give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from headcount.data.frames import AnnotationSet, Element
from headcount.data.word_pieces import Span
from headcount.errors import DataProblem

MOST_WORDS = 12
LONGEST = 3
"""Words of an element."""
BETWEEN = 2
"""Words between an element and the target, at least."""
ELEMENTS = ("core", "any", "strict")
"""Core elements; elements of any kind; core elements of annotation sets that have no others, all short and distant."""
WORD = re.compile(r"\S+")
Words = tuple[int, ...]
"""The numbers of some words, from 0, in order."""


@dataclass(frozen=True)
class Link:
    """The words of an element and those of the target, in one sentence."""

    element: Words
    target: Words
    names: tuple[str, ...]
    """What the element is called; several names if frames share target and element."""

    @property
    def after_target(self) -> bool:
        """Whether the element comes after the target."""
        return self.element[0] > self.target[0]


@dataclass(frozen=True)
class Filtered:
    """What the filter left of the data: the same for all its sentences."""

    steps: dict[str, int]
    """How many annotation sets there are after each step."""
    sentences: int


@dataclass(frozen=True)
class FrameSentence:
    """A sentence with the links that count, each once."""

    name: str
    text: str
    words: tuple[str, ...]
    links: tuple[Link, ...]
    linked: frozenset[tuple[int, int]]
    """All pairs of words, smaller number first, that any annotation links: an element's and its target's."""
    kept: Filtered = field(compare=False, repr=False)


@dataclass
class _Collected:
    text: str
    words: tuple[str, ...]
    links: dict[tuple[Words, Words], list[str]]
    linked: set[tuple[int, int]]


def filter_links(annotated: Iterable[AnnotationSet], elements: str = "core") -> list[FrameSentence]:
    """The sentences that have links, in the order of the data; annotation sets of the same words are of one sentence.

    Raises `DataProblem` where nothing is left, with the count after each step.
    """
    kind = "an" if elements == "any" else "a core"
    one, few, close, far = (
        "with one target and an element",
        f"with at most {MOST_WORDS} words",
        f"with {kind} element of at most {LONGEST} words",
        f"with at least {BETWEEN} words between it and the target",
    )
    steps = dict.fromkeys(("annotation sets", one, few, close, far), 0)
    sentences: dict[tuple[str, ...], _Collected] = {}
    coreness_known = False
    for annotation in annotated:
        steps["annotation sets"] += 1
        coreness_known |= any(element.core is not None for element in annotation.elements)
        steps[one] += (single := len(annotation.targets) == 1 and bool(annotation.elements))
        words = tuple(annotation.text.split())
        if len(words) > MOST_WORDS:
            continue
        spans = [match.span() for match in WORD.finditer(annotation.text)]
        targets = [_covered(spans, target) for target in annotation.targets]
        realised = [(element, _covered(spans, element.span)) for element in annotation.elements]
        sentence = sentences.setdefault(words, _Collected(annotation.text.strip(), words, {}, set()))
        sentence.linked |= {
            (min(a, b), max(a, b)) for _, part in realised for a in part for target in targets for b in target
        }
        if not single:
            continue
        steps[few] += 1
        short = [(element, part) for element, part in realised if _counts(element, elements) and len(part) <= LONGEST]
        if not short or (elements == "strict" and len(short) < len(realised)):
            continue
        steps[close] += 1
        distant = [(element, part) for element, part in short if _between(part, targets[0]) >= BETWEEN]
        if not distant or (elements == "strict" and len(distant) < len(short)):
            continue
        steps[far] += 1
        for element, part in distant:
            names = sentence.links.setdefault((part, targets[0]), [])
            if element.name not in names:
                names.append(element.name)
    if elements != "any" and steps["annotation sets"] and not coreness_known:
        raise DataProblem(
            "the elements in column 'fes' do not say whether they are core, as in FrameNet's full texts; add core to"
            " them, or give elements=any to take all of them"
        )
    if not steps[far]:
        raise DataProblem(f"the filter leaves nothing: {spell_steps(steps)}; give more, or elements=any")
    kept = [sentence for sentence in sentences.values() if sentence.links]
    filtered = Filtered(steps, len(kept))
    return [
        FrameSentence(
            str(number),
            sentence.text,
            sentence.words,
            tuple(Link(part, target, tuple(names)) for (part, target), names in sentence.links.items()),
            frozenset(sentence.linked),
            filtered,
        )
        for number, sentence in enumerate(kept, start=1)
    ]


def spell_steps(steps: dict[str, int]) -> str:
    """The counts of the filter in one line.

    >>> spell_steps({"annotation sets": 1200, "with at most 12 words": 30})
    '1,200 annotation sets, 30 with at most 12 words'
    """
    return ", ".join(f"{count:,} {step}" for step, count in steps.items())


def _counts(element: Element, elements: str) -> bool:
    return elements == "any" or bool(element.core)


def _covered(words: list[Span], span: Span) -> Words:
    """The words that a span of characters covers, at least in part."""
    return tuple(number for number, (start, end) in enumerate(words) if start < span[1] and end > span[0])


def _between(first: Words, second: Words) -> int:
    """How many words lie between; below 0 where they overlap."""
    return max(first[0] - second[-1], second[0] - first[-1]) - 1
