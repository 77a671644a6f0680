"""Which heads a sweep leaves out at a time: each head, each layer, all heads of a layer but one, pairs, or any sets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from headcount.ablation.hows import Patch
from headcount.core.heads import Head, HeadSet, Layout
from headcount.core.results import by_head, by_layer, head_coords
from headcount.errors import DataProblem, InvalidOption

EVERY = ("head", "layer", "all-but-one")


@dataclass(frozen=True)
class Every:
    """Each head, each layer, or (`all-but-one`) all heads of a layer but one; of one stack, or of all."""

    what: str = "head"
    stack: str | None = None


@dataclass(frozen=True)
class RandomSets:
    """So many random sets, each of `size` heads; of one stack, or of all."""

    draws: int
    size: int
    stack: str | None = None


@dataclass(frozen=True)
class Estimates:
    """What a screening by attribution expects of patching, to be compared with the exact changes.

    `values` [example, head] of the `heads`; `how` and `metric`: what is estimated; `data`: the fingerprint of the
    examples.
    """

    how: Patch
    metric: str
    data: str
    heads: tuple[Head, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Screened:
    """Some heads of many: those that an estimate ranks highest, and a random sample of the others as a control.

    `headcount.screen` makes one.
    """

    estimate: str
    """What ranked them, such as `importance`."""
    top: tuple[Head, ...]
    control: tuple[Head, ...]
    of: int
    """How many heads were ranked."""
    stack: str | None = None
    estimates: Estimates | None = field(default=None, compare=False, repr=False)
    """If it estimates what the sweep computes: the estimates, to be compared with that."""

    @property
    def heads(self) -> frozenset[Head]:
        """The heads that are run."""
        return frozenset((*self.top, *self.control))


@dataclass(frozen=True)
class AtPositions:
    """Each head at each of these positions (names, or numbers of tokens); of one stack, or of all."""

    positions: tuple[str | int, ...]
    stack: str | None = None


Pair = tuple[Head, Head]
"""Two heads, in the order of a pass."""


@dataclass(frozen=True)
class Pairs:
    """All pairs of some heads, and each of these heads alone.

    `among`: heads, such as "L3H7, L5, L2H0-3"; "all"; or what `headcount.screen` returns, for its top heads.
    """

    among: Any


@dataclass(frozen=True)
class ScreenedPairs:
    """Some pairs of many: those that an estimate ranks highest, and a random sample of the others as a control.

    `headcount.screen_pairs` makes one.
    """

    estimate: str
    top: tuple[Pair, ...]
    control: tuple[Pair, ...]
    of: int
    """How many pairs were ranked."""
    estimated: tuple[float, ...]
    """The interaction in the loss that was estimated for each of the top pairs and of the control."""


By = str | Every | AtPositions | RandomSets | Screened | Pairs | ScreenedPairs | Iterable[Any]
"""What is left out at a time; a string is short for `Every(string)`, anything else is sets of heads."""


@dataclass(frozen=True)
class Paired:
    """How the choices of a sweep over pairs belong together."""

    numbers: tuple[tuple[int, int, int], ...]
    """Of each pair: the number of the choice without both heads, without the first, and without the second."""
    tests: int
    """The number of pairs that q-values are corrected for: all that the run ones were selected from."""
    ranked: Screened | None = None
    """The ranking that selected the heads, if one did."""
    screened: ScreenedPairs | None = None
    """The screening that selected the pairs, if one did."""


@dataclass(frozen=True)
class Choices:
    """The sets of heads that a sweep leaves out, and how they lie along the axes of its result."""

    by: str
    layout: Layout
    keys: tuple[Any, ...]
    """A Head, a (stack, layer) or the number of a set, for each choice."""
    sets: tuple[HeadSet, ...]
    stack: str | None = None
    """The only stack that heads were taken from."""
    screened: Screened | None = None
    """How the heads were selected, if not all of them are run."""
    positions: tuple[str | int, ...] | None = None
    """For each choice the position at which its head is replaced, in a map of heads and positions."""
    paired: Paired | None = None
    """Which of the sets are pairs of which others."""

    @property
    def dims(self) -> tuple[str, ...]:
        if self.positions is not None:
            return ("stack", "layer", "head", "position")
        return {"layer": ("stack", "layer")}.get(self.by, ("stack", "layer", "head") if self.heads else ("set",))

    @property
    def heads(self) -> bool:
        return self.by in ("head", "all-but-one")

    def coords(self) -> dict[str, Any]:
        if self.dims == ("set",):
            return {"set": self.names()}
        coords = head_coords(self.layout, heads=self.heads or self.positions is not None)
        return coords if self.positions is None else coords | {"position": [str(name) for name in self.at]}

    @property
    def at(self) -> list[str | int]:
        """The positions of a map of heads and positions."""
        return list(dict.fromkeys(self.positions or ()))

    def arrange(self, values: Sequence[Any]) -> np.ndarray:
        """[*dims, ...] from one value for each choice."""
        if self.positions is not None:
            heads = dict.fromkeys(head for head, _ in self.keys)
            rows = np.stack([np.asarray(one) for one in values]).reshape(len(heads), len(self.at), *np.shape(values[0]))
            return by_head(dict(zip(heads, rows, strict=True)), self.layout)
        pairs = dict(zip(self.keys, values, strict=True))
        if self.heads:
            return by_head(pairs, self.layout)
        return by_layer(pairs, self.layout) if self.by == "layer" else np.stack([np.asarray(one) for one in values])

    def index(self, number: int) -> tuple[int, ...]:
        """Where a choice lies along the axes."""
        key = self.keys[number]
        if self.dims == ("set",):
            return (number,)
        if self.positions is not None:
            head, name = key
            return (list(self.layout.stacks).index(head.stack), head.layer, head.head, self.at.index(name))
        stack, *rest = (key.stack, key.layer, key.head) if self.heads else key
        return (list(self.layout.stacks).index(stack), *rest)

    def only(self, numbers: Sequence[int]) -> Choices:
        """Some of the choices."""
        positions = None if self.positions is None else tuple(self.positions[n] for n in numbers)
        keys, sets = (tuple(values[n] for n in numbers) for values in (self.keys, self.sets))
        return replace(self, keys=keys, sets=sets, positions=positions)

    @property
    def group(self) -> str:
        """Where a study keeps the result, without the replacement."""
        return f"sweep/{self.by}-"

    @property
    def replaced(self) -> Choices:
        """What the replacement acts on."""
        return self

    @property
    def identity(self) -> list[str]:
        """What must be equal for a result to be continued: the sets, one by one."""
        return list(map(str, self.sets))

    def names(self) -> list[str]:
        """The name of each choice, as a person would call it."""
        if self.heads:
            return [self.layout.spell(key) for key in self.keys]
        if self.positions is not None:
            return [f"{self.layout.spell(head)} at {name}" for head, name in self.keys]
        if self.by == "layer":
            return [self.layout.spell_layer(*key) for key in self.keys]
        if self.paired is not None:
            return [spell_pair(self.layout, heads) for heads in self.sets]
        return [str(heads) for heads in self.sets]


def choose_head_sets(layout: Layout, by: By = "head", seed: int = 0) -> Choices:
    """The choices of a sweep; random sets are drawn with the seed.

    >>> choose_head_sets(Layout.even({"encoder": (2, 3)}), ["L0H1, L1", "L1H2"]).names()
    ['L0H1, L1', 'L1H2']
    """
    if isinstance(by, str):
        by = Every(by)
    if isinstance(by, RandomSets):
        return _draw(layout, by, seed)
    if isinstance(by, Screened):
        return _run_some(layout, by)
    if isinstance(by, AtPositions):
        both = tuple((head, name) for head in heads_of(layout, by.stack) for name in by.positions)
        sets = tuple(HeadSet.of(head, layout) for head, _ in both)
        return Choices("position", layout, both, sets, by.stack, positions=tuple(name for _, name in both))
    if isinstance(by, Pairs):
        return _pair_up(layout, by)
    if isinstance(by, ScreenedPairs):
        return _run_pairs(layout, [*by.top, *by.control], by.of, screened=by)
    if isinstance(by, Iterable):
        sets = tuple(HeadSet.of(heads, layout) for heads in by)
        if not sets or not all(sets):
            raise InvalidOption("got an empty set of heads; expected at least one head in each set")
        return Choices("sets", layout, tuple(range(len(sets))), sets)
    if not isinstance(by, Every) or by.what not in EVERY:
        raise InvalidOption(
            f"got by={getattr(by, 'what', by)!r}; expected one of {', '.join(EVERY)}, or Every(one of these, stack), "
            "a list of sets of heads such as ['L3H7,L5H1', 'L2'], Pairs(among), or RandomSets(draws, size)"
        )
    heads = heads_of(layout, by.stack)
    keys: tuple[Any, ...] = tuple(heads)
    if by.what == "head":
        sets = tuple(HeadSet.of(head, layout) for head in heads)
    elif by.what == "layer":
        keys = tuple(dict.fromkeys((head.stack, head.layer) for head in heads))
        sets = tuple(_whole(layout, *key) for key in keys)
    else:
        sets = tuple(_whole(layout, head.stack, head.layer) - HeadSet.of(head, layout) for head in heads)
    return Choices(by.what, layout, keys, sets, by.stack)


def _whole(layout: Layout, stack: str, layer: int) -> HeadSet:
    return HeadSet.of([Head(stack, layer, number) for number in layout.stacks[stack][layer]], layout)


def heads_of(layout: Layout, stack: str | None) -> list[Head]:
    """The heads of one stack, or all."""
    if stack is not None and stack not in layout.stacks:
        raise InvalidOption(f"got the stack {stack!r}; the model has {', '.join(layout.stacks)}")
    return [head for head in layout if stack in (None, head.stack)]


def _run_some(layout: Layout, screened: Screened) -> Choices:
    """The heads of a screening, in the order of the layout."""
    known = heads_of(layout, screened.stack)
    foreign = sorted(map(str, screened.heads - set(known)))
    if foreign:
        raise InvalidOption(f"got a screening with the head {foreign[0]}; expected one of this model's heads")
    heads = tuple(head for head in known if head in screened.heads)
    sets = tuple(HeadSet.of(head, layout) for head in heads)
    return Choices("head", layout, heads, sets, screened.stack, screened)


def _pair_up(layout: Layout, wanted: Pairs) -> Choices:
    """All pairs of the heads that are named, or of the top heads of a screening."""
    ranked = wanted.among if isinstance(wanted.among, Screened) else None
    heads = find_among(layout, wanted.among if ranked is None else list(ranked.top))
    count = len(heads) if ranked is None else ranked.of
    return _run_pairs(layout, list(combinations(heads, 2)), count * (count - 1) // 2, ranked=ranked)


def find_among(layout: Layout, among: Any) -> list[Head]:
    """The heads whose pairs are run, in the order of a pass; an error for fewer than two."""
    if isinstance(among, int | float) or among is None:
        raise InvalidOption(
            f"got among={among}; expected heads such as 'L3H7, L5', 'all', or the top ones of "
            "headcount.screen(..., top=20), which ranks them"
        )
    heads = list(layout) if among == "all" else list(HeadSet.of(among, layout))
    if len(heads) < 2:
        named = f"one head, {layout.spell(heads[0])}" if heads else "no head"
        raise InvalidOption(f"got {named}, in among=; expected at least two heads: they are ablated in pairs")
    return sorted(heads, key=lambda head: (layout.depth(head), head))


def _run_pairs(
    layout: Layout,
    pairs: Sequence[Pair],
    tests: int,
    ranked: Screened | None = None,
    screened: ScreenedPairs | None = None,
) -> Choices:
    """Each head of the pairs alone, then the pairs."""
    among = HeadSet.of([head for pair in pairs for head in pair], layout)
    heads = sorted(among, key=lambda head: (layout.depth(head), head))
    number = {head: index for index, head in enumerate(heads)}
    sets = [HeadSet.of(head, layout) for head in heads] + [HeadSet(frozenset(pair), layout) for pair in pairs]
    numbers = tuple((len(heads) + index, number[a], number[b]) for index, (a, b) in enumerate(pairs))
    return Choices(
        "pair", layout, tuple(range(len(sets))), tuple(sets), paired=Paired(numbers, tests, ranked, screened)
    )


def spell_pair(layout: Layout, heads: Iterable[Head]) -> str:
    """The name of one or two heads, in the order of a pass.

    >>> spell_pair(Layout.even({"encoder": (2, 3)}), [Head("encoder", 1, 0), Head("encoder", 0, 2)])
    'L0H2 + L1H0'
    """
    return " + ".join(layout.spell(head) for head in sorted(heads, key=lambda head: (layout.depth(head), head)))


def _draw(layout: Layout, wanted: RandomSets, seed: int) -> Choices:
    heads = heads_of(layout, wanted.stack)
    if wanted.draws < 1 or not 1 <= wanted.size <= len(heads):
        raise InvalidOption(
            f"drawn sets need draws= (at least 1) and size= from 1 to {len(heads)}; got {wanted.draws} and "
            f"{wanted.size}"
        )
    generator = np.random.default_rng(seed)
    drawn = [generator.choice(len(heads), wanted.size, replace=False) for _ in range(wanted.draws)]
    sets = tuple(HeadSet(frozenset(heads[index] for index in numbers), layout) for numbers in drawn)
    return Choices("draws", layout, tuple(range(wanted.draws)), sets, wanted.stack)


def read_sets(path: Path) -> list[str]:
    """Sets of heads from a file: a JSON list, or one set a line."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return [heads if isinstance(heads, str) else ",".join(heads) for heads in json.loads(text)]
    except FileNotFoundError:
        raise DataProblem(f"there is no file {path}; expected one with a set of heads on each line: L0H1, L3") from None
    except (OSError, ValueError, TypeError) as error:
        raise DataProblem(f"cannot read sets of heads from {path}: {error}") from error
    return [line for line in text.splitlines() if line.strip()]
