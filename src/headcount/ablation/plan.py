"""The plan of a sweep: which sets of heads, from which layer on, over which batches; data that can be printed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.heads import Head, HeadSet, Layout
from headcount.core.options import without_effect
from headcount.core.results import by_head, by_layer, head_coords
from headcount.data.batches import plan_batches
from headcount.errors import DataProblem, InvalidOption

BY = ("head", "layer", "all-but-one", "sets", "draws")


@dataclass(frozen=True)
class Choices:
    """The sets of heads that a sweep leaves out, and how they lie along the axes of its result."""

    by: str
    layout: Layout
    keys: tuple[Any, ...]
    """A Head, a (stack, layer) or the number of a set, for each choice."""
    sets: tuple[HeadSet, ...]

    @property
    def dims(self) -> tuple[str, ...]:
        return {"layer": ("stack", "layer")}.get(self.by, ("stack", "layer", "head") if self.heads else ("set",))

    @property
    def heads(self) -> bool:
        return self.by in ("head", "all-but-one")

    def coords(self) -> dict[str, Any]:
        if self.dims == ("set",):
            return {"set": [str(heads) for heads in self.sets]}
        return head_coords(self.layout, heads=self.heads)

    def arrange(self, values: Sequence[Any]) -> np.ndarray:
        """[*dims, ...] from one value for each choice."""
        pairs = dict(zip(self.keys, values, strict=True))
        if self.heads:
            return by_head(pairs, self.layout)
        return by_layer(pairs, self.layout) if self.by == "layer" else np.stack([np.asarray(one) for one in values])

    def names(self) -> list[str]:
        """The name of each choice, as a person would call it."""
        if self.heads:
            return [self.layout.spell(key) for key in self.keys]
        return (
            [self.layout.spell_layer(*key) for key in self.keys]
            if self.by == "layer"
            else [str(one) for one in self.sets]
        )


@dataclass(frozen=True)
class RandomSets:
    """So many random sets, each of `size` heads."""

    draws: int
    size: int


def choose_head_sets(
    layout: Layout,
    by: str | None = None,
    stack: str | None = None,
    sets: Iterable[Any] | RandomSets | None = None,
    seed: int = 0,
) -> Choices:
    """The choices of a sweep by head, by layer, of all heads of a layer but one, of given or of drawn sets."""
    if by not in (None, *BY):
        raise InvalidOption(f"got by={by!r}; expected one of {', '.join(BY)}")
    drawn = isinstance(sets, RandomSets)
    if sets is not None:
        option = "draws" if drawn else "sets"
        without_effect("by", by not in (None, option), f"{option}= says what is left out")
    if sets is not None and not drawn:
        without_effect("stack", stack, "the heads of sets= name their stacks")
    by = by or "head"
    stacks = _stacks(layout, stack)
    heads = [head for head in layout if head.stack in stacks]
    if isinstance(sets, RandomSets):
        return _draw(layout, heads, sets, seed)
    if sets is not None:
        found = tuple(HeadSet.of(one, layout) for one in sets)
        if not found or not all(found):
            raise InvalidOption("got an empty set of heads; expected at least one head in each set")
        return Choices("sets", layout, tuple(range(len(found))), found)
    if by in ("sets", "draws"):
        raise InvalidOption(f"by={by!r} needs sets=: a list such as ['L3H7,L5H1', 'L2'], or RandomSets(draws, size)")
    layers = list(dict.fromkeys((head.stack, head.layer) for head in heads))
    if by == "layer":
        return Choices(by, layout, tuple(layers), tuple(HeadSet.of(_whole(layout, place), layout) for place in layers))
    if by == "head":
        return Choices(by, layout, tuple(heads), tuple(HeadSet.of(head, layout) for head in heads))
    others = tuple(
        HeadSet.of(_whole(layout, (head.stack, head.layer)), layout) - HeadSet.of(head, layout) for head in heads
    )
    return Choices(by, layout, tuple(heads), others)


def _whole(layout: Layout, place: tuple[str, int]) -> list[Head]:
    return [Head(*place, number) for number in layout.stacks[place[0]][place[1]]]


def _stacks(layout: Layout, stack: str | None) -> list[str]:
    if stack is None:
        return list(layout.stacks)
    if stack not in layout.stacks:
        raise InvalidOption(f"got the stack {stack!r}; the model has {', '.join(layout.stacks)}")
    return [stack]


def _draw(layout: Layout, heads: list[Head], sets: RandomSets, seed: int) -> Choices:
    draws, size = sets.draws, sets.size
    if draws < 1 or not 1 <= size <= len(heads):
        raise InvalidOption(
            f"drawn sets need draws= (at least 1) and size= from 1 to {len(heads)}; got {draws} and {size}"
        )
    generator = np.random.default_rng(seed)
    found = tuple(
        HeadSet(frozenset(heads[place] for place in generator.choice(len(heads), size, replace=False)), layout)
        for _ in range(draws)
    )
    return Choices("draws", layout, tuple(range(draws)), found)


def read_sets(path: Path) -> list[str]:
    """Sets of heads from a file: a JSON list, or one set a line."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return [one if isinstance(one, str) else ",".join(one) for one in json.loads(text)]
    except FileNotFoundError:
        raise DataProblem(f"there is no file {path}; expected one with a set of heads on each line: L0H1, L3") from None
    except (OSError, ValueError, TypeError) as error:
        raise DataProblem(f"cannot read sets of heads from {path}: {error}") from error
    return [line for line in text.splitlines() if line.strip()]


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
