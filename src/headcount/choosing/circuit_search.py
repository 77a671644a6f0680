"""The search for a circuit: nested sets of an order, then passes that drop the heads that are not needed.

It knows no model: a function judges sets of heads that are kept, and the search says which sets to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from headcount.core.heads import Head

Kept = frozenset[Head]
FINER = 8
"""How many sizes between two steps of a ladder are tried."""


@dataclass(frozen=True)
class Margin:
    """How far a set of kept heads is within the tolerance (below 0: outside), and its one-sided 95 % bounds."""

    value: float
    worst: float
    best: float

    def within(self, by_estimate: bool) -> bool:
        return (self.value if by_estimate else self.worst) >= -1e-12

    @property
    def outside(self) -> bool:
        return self.best < -1e-12


Judge = Callable[[str, Sequence[Kept]], list[Margin]]
"""From the name of a step of the search and sets of kept heads to their margins."""


@dataclass(frozen=True)
class Found:
    """A circuit, and how it was found."""

    heads: Kept
    curve: dict[int, Margin]
    """By size, the margins of the nested sets of the order."""
    sizes: tuple[int, ...]
    """Of the circuit before the first pass and after each one."""
    settled: bool
    """Whether the last pass found no head that could be dropped."""


def ladder(most: int) -> list[int]:
    """Numbers from 1 to `most`, close to each other at first and then farther apart.

    >>> ladder(40)
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40]
    """
    steps = {most}
    step = 1
    while step < most:
        steps |= {step, min(most, step + step // 2)}
        step *= 2
    return sorted(steps)


def search_tolerance(order: Sequence[Head], judge: Judge, passes: int, by_estimate: bool = False) -> Found:
    """The smallest set within the tolerance that the search finds; `order`: the most needed heads first."""
    curve: dict[int, Margin] = {}

    def kept(size: int) -> Kept:
        return frozenset(order[:size])

    size = _smallest(len(order), lambda step, sizes: judge(step, [kept(each) for each in sizes]), by_estimate, curve)
    heads, sizes, settled = kept(size), [size], False
    for number in range(1, passes + 1):
        if len(heads) < 2:
            settled = True
            break
        least_needed = _by_need(heads, order, judge, number)
        circuit = heads

        def left(size: int, circuit: Kept = circuit, least_needed: Sequence[Head] = least_needed) -> Kept:
            return circuit - frozenset(least_needed[: len(circuit) - size])

        def judge_left(
            step: str, sizes: Sequence[int], number: int = number, left: Callable[[int], Kept] = left
        ) -> list[Margin]:
            return judge(f"pass {number}, {step}", [left(each) for each in sizes])

        heads = left(_smallest(len(circuit), judge_left, by_estimate, from_the_top=True))
        sizes.append(len(heads))
        if len(heads) == len(circuit):
            settled = True
            break
    return Found(heads, curve, tuple(sizes), settled)


def search_size(order: Sequence[Head], judge: Judge, passes: int, keep: int) -> Found:
    """So many heads: twice as many by the order, of which each pass drops a part, the least needed ones."""
    heads = frozenset(order[: min(len(order), 2 * keep) if passes else keep])
    sizes = [len(heads)]
    for number in range(1, passes + 1):
        surplus = len(heads) - keep
        if not surplus:
            break
        going = _by_need(heads, order, judge, number)[: ceil(surplus / (passes - number + 1))]
        heads -= frozenset(going)
        sizes.append(len(heads))
    return Found(heads, {}, tuple(sizes), False)


def _by_need(heads: Kept, order: Sequence[Head], judge: Judge, number: int) -> list[Head]:
    """The heads of a circuit, the least needed first: by the margin of the circuit without each."""
    members = [head for head in reversed(order) if head in heads]  # of equal ones, the last of the order first
    margins = judge(f"pass {number}, heads", [heads - {head} for head in members])
    return [members[place] for place in sorted(range(len(members)), key=lambda place: -margins[place].value)]


def _smallest(
    most: int,
    judge: Callable[[str, Sequence[int]], list[Margin]],
    by_estimate: bool,
    seen: dict[int, Margin] | None = None,
    from_the_top: bool = False,
) -> int:
    """The smallest size within the tolerance, of nested sets; `most`, the largest, is within it.

    Sizes below one that is significantly outside are not considered. First a ladder of sizes, close to each other at
    the small end or, `from_the_top`, at the large one; then those between the last two steps.
    """
    seen = {} if seen is None else seen
    steps = [most - step for step in ladder(most - 1)] if from_the_top else ladder(most)[:-1]

    def smallest() -> int:
        size = most
        for each in sorted(seen, reverse=True):
            if seen[each].outside:
                break
            if seen[each].within(by_estimate):
                size = each
        return size

    for name in ("sets", "finer sets"):
        new = sorted(set(steps) - set(seen))
        if new:
            seen |= dict(zip(new, judge(name, new), strict=True))
        size = smallest()
        below = max((each for each in seen if each < size), default=size - 1)
        between = range(below + 1, size)
        steps = [*between][:: max(1, ceil(len(between) / FINER))]
    return smallest()
