"""The plan of a sweep: which passes, from which layer on, over which batches; data that can be printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from headcount.ablation.choices import Choices
from headcount.core.heads import HeadSet
from headcount.data.batches import plan_batches

T = TypeVar("T")
Pass = tuple[int, tuple[int, ...]]
"""A starting layer, and the numbers of the choices that start there."""


@dataclass(frozen=True)
class Nested:
    """Passes that share a beginning: those of `firsts` are remembered, and others start in the middle of them."""

    firsts: tuple[Pass, ...]
    passes: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    """A starting layer, and for each choice its number and that of the first whose pass it goes on with."""

    def narrowed(self, width: int) -> list[Nested]:
        """The same in parts that remember at most `width` firsts each, with at most `width` variants in a batch."""
        firsts = [(start, number) for start, numbers in self.firsts for number in numbers]
        parts = []
        for at in range(0, len(firsts), width):
            some = firsts[at : at + width]
            starts: dict[int, list[int]] = {}
            for start, number in some:
                starts.setdefault(start, []).append(number)
            known = {number for _, number in some}
            passes = [
                cut
                for start, pairs in self.passes
                for cut in _cut(start, [pair for pair in pairs if pair[1] in known], width)
            ]
            parts.append(Nested(tuple((start, tuple(found)) for start, found in starts.items()), tuple(passes)))
        return parts


@dataclass(frozen=True)
class SweepPlan:
    """What is run: batches of examples (ranges of their order by length), and for each batch the passes.

    A pass is a starting layer (its number in the order of the pass) and the numbers of the choices that begin
    there. A unit is a range of batches: what is saved at once.
    """

    batches: tuple[tuple[int, int], ...]
    passes: tuple[tuple[int, tuple[int, ...]], ...]
    units: tuple[tuple[int, int], ...]
    unchanged: tuple[int, ...]
    """Choices that leave out nothing: they score as the baseline does."""
    nested: tuple[Nested, ...] = ()
    """Pairs in different layers, which start at the second head's layer, from the pass without the first head."""

    @property
    def pass_count(self) -> int:
        return sum(1 for _ in self._all_passes())

    @property
    def widest(self) -> int:
        """How many variants run as one batch at most."""
        return max(len(numbers) for _, numbers in self._all_passes())

    def _all_passes(self) -> Iterator[tuple[int, Sequence[Any]]]:
        yield from self.passes
        for group in self.nested:
            yield from (*group.firsts, *group.passes)

    def narrowed(self, width: int) -> SweepPlan:
        """The plan with at most `width` variants in a batch, and as many that are remembered."""
        passes = [cut for start, numbers in self.passes for cut in _cut(start, numbers, width)]
        nested = [cut for group in self.nested for cut in group.narrowed(width)]
        return replace(self, passes=tuple(passes), nested=tuple(nested))

    def layers_run(self, layers: int) -> int:
        """How many layers all variants of a batch run together, of a model with so many."""
        return sum(len(numbers) * (layers - start) for start, numbers in self._all_passes())


def first_layer(heads: HeadSet) -> int:
    """The number, in the order of the pass, of the first layer that a set touches; decoders come after encoders."""
    return min(map(heads.layout.depth, heads))


def plan_sweep(
    choices: Choices, lengths: np.ndarray, tokens: int, width: int, units: list[tuple[int, int]], replay: bool = True
) -> SweepPlan:
    """The plan for examples of these lengths (long to short).

    `tokens`: of one batch, padded. `width`: how many variants at most run as one batch. Without `replay` (where
    texts are generated) every pass starts at the beginning.
    """
    extended = _extended(choices) if replay else {}
    firsts = {first for first, _ in extended.values()}
    groups: dict[int, list[int]] = {}
    for number, heads in enumerate(choices.sets):
        if heads and number not in extended and number not in firsts:
            groups.setdefault(first_layer(heads) if replay else 0, []).append(number)
    passes = [group for start, numbers in sorted(groups.items()) for group in _cut(start, numbers, width)]
    batches = [(start + a, start + b) for start, stop in units for a, b in plan_batches(lengths[start:stop], tokens)]
    unchanged = tuple(number for number, heads in enumerate(choices.sets) if not heads)
    return SweepPlan(tuple(batches), tuple(passes), tuple(units), unchanged, _nest(choices, extended, width))


def _extended(choices: Choices) -> dict[int, tuple[int, int]]:
    """For each pair whose heads are in different layers: the number of the first head's choice, the second's layer."""
    if choices.paired is None:
        return {}
    starts = [first_layer(heads) for heads in choices.sets]
    return {
        number: (first, starts[second])
        for number, first, second in choices.paired.numbers
        if starts[first] < starts[second]
    }


def _nest(choices: Choices, extended: Mapping[int, tuple[int, int]], width: int) -> tuple[Nested, ...]:
    """At most `width` firsts are remembered at a time, and at most as many variants run as one batch."""
    if not extended:
        return ()
    firsts: dict[int, list[int]] = {}
    for first in sorted({first for first, _ in extended.values()}):
        firsts.setdefault(first_layer(choices.sets[first]), []).append(first)
    passes: dict[int, list[tuple[int, int]]] = {}
    for number, (first, start) in extended.items():
        passes.setdefault(start, []).append((number, first))
    whole = Nested(
        tuple((start, tuple(numbers)) for start, numbers in sorted(firsts.items())),
        tuple((start, tuple(pairs)) for start, pairs in sorted(passes.items())),
    )
    return tuple(whole.narrowed(width))


def _cut(start: int, numbers: Sequence[T], width: int) -> list[tuple[int, tuple[T, ...]]]:
    return [(start, tuple(numbers[at : at + width])) for at in range(0, len(numbers), width)]


def plan_units(lengths: np.ndarray, tokens: int, most: int = 64) -> list[tuple[int, int]]:
    """Ranges of examples, all of one length but the last, each worth a batch or more."""
    count = int(np.clip(lengths.sum() // max(1, tokens), 1, min(most, len(lengths))))
    size = -(-len(lengths) // count)
    return [(start, min(start + size, len(lengths))) for start in range(0, len(lengths), size)]


def widest_group(choices: Choices, replay: bool = True) -> int:
    """How many choices begin at the same layer at most."""
    if not replay:
        return len(choices.sets)
    extended = _extended(choices)
    starts = [
        extended[number][1] if number in extended else first_layer(heads)
        for number, heads in enumerate(choices.sets)
        if heads
    ]
    return max(Counter(starts).values(), default=1)
