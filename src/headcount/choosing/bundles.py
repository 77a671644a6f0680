"""What is removed together? Single query heads, or all heads that read one key/value group, and its keys and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headcount.ablation.choices import heads_of
from headcount.core.heads import Head, Layout
from headcount.core.options import one_of
from headcount.errors import DataProblem, InvalidOption
from headcount.models.anatomy import Anatomy

BUNDLES = ("head", "group")


@dataclass(frozen=True)
class Bundles:
    """The heads that may be removed, in sets of equal size, each of which is removed as a whole."""

    by: str
    sets: tuple[tuple[Head, ...], ...]

    @classmethod
    def of(cls, anatomy: Anatomy, by: str = "head", stack: str | None = None) -> Bundles:
        """Each head of a stack (of all by default), or the heads of each key/value group.

        In a model without groups every head has keys and values of its own: a group is then one head.
        """
        one_of("by", by, BUNDLES)
        heads = heads_of(anatomy.layout, stack)
        if by == "head":
            return cls(by, tuple((head,) for head in heads))
        groups: dict[tuple[str, int, int], tuple[Head, ...]] = {}
        for head in heads:
            block = anatomy.attention(head.stack, head.layer)
            key = (head.stack, head.layer, block.groups[block.column(head.head)])
            groups[key] = (*groups.get(key, ()), head)
        sizes = sorted({len(group) for group in groups.values()})
        if len(sizes) > 1:
            raise InvalidOption(
                f"got by='group', but the groups of this model have {sizes[0]} to {sizes[-1]} query heads; expected "
                "groups of one size, so that cuts of as many heads can be compared: give by='head'"
            )
        return cls(by, tuple(groups.values()))

    @property
    def size(self) -> int:
        """How many heads a bundle has."""
        return len(self.sets[0]) if self.sets else 1

    def pooled(self, values: np.ndarray, layout: Layout, pool: Callable[..., np.ndarray] = np.sum) -> np.ndarray:
        """Values [..., stack, layer, head] in which each head has the sum (or another `pool`) over its bundle."""
        stacks = list(layout.stacks)
        pooled = values.astype(float)
        for bundle in self.sets:
            index = (..., *np.array([[stacks.index(head.stack), head.layer, head.head] for head in bundle]).T)
            pooled[index] = pool(pooled[index], axis=-1, keepdims=True)
        return pooled

    def arrange(self, numbers: Sequence[int]) -> tuple[Head, ...]:
        """The heads of the bundles with these numbers, in their order."""
        return tuple(head for number in numbers for head in self.sets[number])

    def check_order(self, order: Sequence[Head], layout: Layout, source: str) -> None:
        """Refuse an order that removes part of a bundle before it removes something else."""
        bundle_of = {head: number for number, bundle in enumerate(self.sets) for head in bundle}
        for start in range(0, len(order), self.size):
            part = order[start : start + self.size]
            if len({bundle_of[head] for head in part}) > 1:
                heads = ", ".join(map(layout.spell, self.sets[bundle_of[part[0]]]))
                raise DataProblem(
                    f"{source} separates {heads}, which share keys and values; expected the heads of a group next to "
                    "each other, or by='head'"
                )

    def whole(self, heads: float) -> int:
        """The number of heads in whole bundles that is nearest to a number of heads.

        >>> Bundles("group", ((Head("decoder", 0, 0), Head("decoder", 0, 1), Head("decoder", 0, 2)),)).whole(58)
        57
        """
        return self.size * round(heads / self.size)


ONE_BY_ONE = Bundles("head", ())
"""Single heads, whichever they are."""
