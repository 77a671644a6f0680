"""In which order do heads go? By an estimate, by ablation, at random, or as a file says; the least needed first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headcount.core.heads import Head, Layout
from headcount.data.number_options import check_numbers
from headcount.errors import InvalidOption

Order = tuple[Head, ...]


def by_values(values: np.ndarray, layout: Layout, stack: str | None = None) -> Order:
    """The heads by their values [stack, layer, head], the smallest first; equal ones by their place."""
    stacks = list(layout.stacks)
    heads = _heads(layout, stack)
    numbers = np.array([values[stacks.index(head.stack), head.layer, head.head] for head in heads])
    if not np.isfinite(numbers).all():
        lost = layout.spell(heads[int(np.flatnonzero(~np.isfinite(numbers))[0])])
        raise InvalidOption(f"{lost} has no value to be ordered by; compute it for all heads of this model")
    return tuple(heads[place] for place in np.argsort(numbers, kind="stable"))


def at_random(layout: Layout, seed: int, stack: str | None = None) -> Order:
    """A random order: the control that says what a clever one is worth."""
    heads = _heads(layout, stack)
    return tuple(heads[place] for place in np.random.default_rng(seed).permutation(len(heads)))


def read_order(path: str | Path, layout: Layout, stack: str | None = None) -> Order:
    """The order in a text file: heads such as L3H7, with blanks, commas or lines between, each exactly once."""
    place = Path(path)
    if not place.is_file():
        raise InvalidOption(f"there is no file {place}; expected one with the heads in order, such as L3H7 L5H0")
    try:
        words = place.read_text(encoding="utf-8").replace(",", " ").split()
    except UnicodeDecodeError as error:
        raise InvalidOption(f"{place} is no text; expected heads such as L3H7 L5H0, each once") from error
    order = tuple(head for word in words for head in layout.find(word))
    twice = [head for head, count in Counter(order).items() if count > 1]
    if twice:
        raise InvalidOption(f"{place} has {layout.spell(twice[0])} twice; expected every head once")
    missing = [head for head in _heads(layout, stack) if head not in order]
    if missing:
        raise InvalidOption(f"{place} has no {layout.spell(missing[0])} ({len(missing)} missing); expected every head")
    return tuple(head for head in order if stack is None or head.stack == stack)


def spare(order: Sequence[Head], layout: Layout, at_least: int) -> Order:
    """The order without the heads that would leave a layer with fewer than `at_least`: these stay."""
    left = Counter((head.stack, head.layer) for head in layout)
    kept = []
    for head in order:
        if left[head.stack, head.layer] > at_least:
            left[head.stack, head.layer] -= 1
            kept.append(head)
    return tuple(kept)


def removals(total: int, steps: int) -> list[int]:
    """How many heads are gone after each of `steps` steps, all of them after the last.

    >>> removals(144, 4)
    [36, 72, 108, 144]
    """
    check_numbers(steps=steps)
    return sorted({max(1, round(total * step / steps)) for step in range(1, steps + 1)})


def _heads(layout: Layout, stack: str | None) -> list[Head]:
    if stack is not None and stack not in layout.stacks:
        raise InvalidOption(f"got the stack {stack!r}; the model has {', '.join(layout.stacks)}")
    return [head for head in layout if stack is None or head.stack == stack]
