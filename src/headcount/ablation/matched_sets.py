"""Sets of heads beside random ones: as many others, of the same layers, so that a difference is not one of depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from headcount.core.heads import Head, HeadSet, Layout


def plan_sets(
    order: Sequence[Head], layout: Layout, removed: Sequence[int], randoms: int, seed: int
) -> tuple[list[HeadSet], list[HeadSet]]:
    """The first heads of the order for each number in `removed`; and `randoms` sets of others for each of them."""
    generator = np.random.default_rng(seed)
    chosen = [HeadSet.of(list(order[:count]), layout) for count in removed]
    drawn = []
    for heads in chosen:
        for _ in range(randoms):
            drawn.append(HeadSet.of(_draw_beside(heads, layout, generator), layout))
    return chosen, drawn


def draw_alike(heads: HeadSet, layout: Layout, randoms: int, seed: int) -> list[HeadSet]:
    """Random sets with as many heads of each layer, drawn from all heads of that layer.

    Some of the heads may be drawn themselves, so that a set of any size has random ones to be compared with.
    """
    generator = np.random.default_rng(seed)
    layers = Counter((head.stack, head.layer) for head in sorted(heads))
    drawn = []
    for _ in range(randoms):
        picked = [
            Head(stack, layer, int(number))
            for (stack, layer), count in layers.items()
            for number in generator.choice(layout.stacks[stack][layer], count, replace=False)
        ]
        drawn.append(HeadSet.of(picked, layout))
    return drawn


def _draw_beside(heads: HeadSet, layout: Layout, generator: np.random.Generator) -> list[Head]:
    """As many other heads of the same layers; of any layers, where these have no more."""
    drawn: list[Head] = []
    taken = set(heads)
    for head in sorted(heads):
        free = [each for each in layout if each not in taken]
        near = [each for each in free if (each.stack, each.layer) == (head.stack, head.layer)]
        picked = (near or free)[int(generator.integers(len(near or free)))]
        drawn.append(picked)
        taken.add(picked)
    return drawn


def draw_others(heads: HeadSet, layout: Layout, generator: np.random.Generator) -> HeadSet:
    """A random set with as many heads in each layer: others, where a layer has enough of them."""
    drawn: list[Head] = []
    for (stack, layer), numbers in heads.by_layer().items():
        own = [Head(stack, layer, number) for number in generator.permutation(numbers)]
        others = [Head(stack, layer, number) for number in layout.stacks[stack][layer] if number not in numbers]
        drawn += [*(others[place] for place in generator.permutation(len(others))), *own][: len(numbers)]
    return HeadSet(frozenset(drawn), layout)
