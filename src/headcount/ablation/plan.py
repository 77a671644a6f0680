"""The plan of a sweep: which passes, from which layer on, over which batches; data that can be printed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount.ablation.choices import Choices
from headcount.core.heads import HeadSet
from headcount.data.batches import plan_batches


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


def first_layer(heads: HeadSet) -> int:
    """The number, in the order of the pass, of the first layer that a set touches; decoders come after encoders."""
    encoder = len(heads.layout.stacks.get("encoder", ()))
    return min(head.layer if head.stack == "encoder" else encoder + head.layer for head in heads)


def plan_sweep(
    choices: Choices, lengths: np.ndarray, tokens: int, width: int, units: list[tuple[int, int]], replay: bool = True
) -> SweepPlan:
    """The plan for examples of these lengths (long to short).

    `tokens`: of one batch, padded. `width`: how many variants at most run as one batch. Without `replay` (where
    texts are generated) every pass starts at the beginning.
    """
    groups: dict[int, list[int]] = {}
    for number, heads in enumerate(choices.sets):
        if heads:
            groups.setdefault(first_layer(heads) if replay else 0, []).append(number)
    passes = [
        (start, tuple(numbers[at : at + width]))
        for start, numbers in sorted(groups.items())
        for at in range(0, len(numbers), width)
    ]
    batches = [(start + a, start + b) for start, stop in units for a, b in plan_batches(lengths[start:stop], tokens)]
    unchanged = tuple(number for number, heads in enumerate(choices.sets) if not heads)
    return SweepPlan(tuple(batches), tuple(passes), tuple(units), unchanged)


def plan_units(lengths: np.ndarray, tokens: int, most: int = 64) -> list[tuple[int, int]]:
    """Ranges of examples, all of one length but the last, each worth a batch or more."""
    count = int(np.clip(lengths.sum() // max(1, tokens), 1, min(most, len(lengths))))
    size = -(-len(lengths) // count)
    return [(start, min(start + size, len(lengths))) for start in range(0, len(lengths), size)]


def widest_group(choices: Choices, replay: bool = True) -> int:
    """How many choices begin at the same layer at most."""
    if not replay:
        return len(choices.sets)
    counts: dict[int, int] = {}
    for heads in choices.sets:
        if heads:
            counts[first_layer(heads)] = counts.get(first_layer(heads), 0) + 1
    return max(counts.values(), default=1)
