"""What may be kept of each attention and feed-forward block, and what each number of kept heads or units costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headcount.choosing.bundles import Bundles
from headcount.core.heads import HeadSet
from headcount.core.options import one_of
from headcount.core.units import SUFFIX, WHATS, Selection, UnitSet
from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.trace.edits import LayerKey

Cost = np.ndarray | float
"""A number for each head or unit that is kept, or the costs [kept] of keeping 0, 1, ... all of them."""


@dataclass(frozen=True, eq=False)
class Block:
    """The heads or units of one block, how many of them may be kept, and at what cost."""

    key: LayerKey
    numbers: tuple[int, ...]
    """Of the heads or units, in the order of their scores."""
    options: tuple[int, ...]
    """How many may be kept, ascending; the last is all of them."""
    costs: np.ndarray
    """[option]."""
    bundles: tuple[tuple[int, ...], ...]
    """Indices into `numbers` of what is only removed together: all of one size, most often single ones."""

    @property
    def count(self) -> int:
        return len(self.numbers)

    @property
    def size(self) -> int:
        """How many heads or units a bundle has."""
        return len(self.bundles[0])

    def pooled(self, values: np.ndarray) -> np.ndarray:
        """[..., bundle]: the sum over each bundle of values [..., head or unit]."""
        pooled: np.ndarray = values[..., np.array(self.bundles)].sum(-1)
        return pooled


def read_blocks(
    anatomy: Anatomy,
    what: str,
    costs: Mapping[LayerKey, Cost],
    *,
    multiple: int = 1,
    at_least: int = 0,
    at_least_units: int = 0,
    by: str = "head",
) -> list[Block]:
    """The blocks of a model that may lose heads, units, or both (`what`), in the order of `anatomy.blocks()`.

    `costs`: of each block by its key. `multiple`: a number of kept units is 0, a multiple of it, or all of them.
    `at_least`, `at_least_units`: kept in every block that has as many. `by="group"`: the query heads of a key/value
    group are removed together. With `by="head"` the keys and values of a group stay as long as one of its heads does:
    `grouped_costs` bounds what that costs.
    """
    one_of("what", what, WHATS)
    if what != "heads":
        anatomy.units.check()
    if multiple < 1 or at_least < 0 or at_least_units < 0:
        raise InvalidOption(
            f"got multiple={multiple}, at_least={at_least}, at_least_units={at_least_units}; "
            "expected a multiple of 1 or more, and numbers of 0 or more"
        )
    groups: dict[LayerKey, list[tuple[int, ...]]] = {}
    for heads in Bundles.of(anatomy, by).sets if what != "units" else ():
        key = (heads[0].stack, heads[0].layer)
        present = anatomy.attention(*key).heads
        groups.setdefault(key, []).append(tuple(present.index(head.head) for head in heads))
    blocks = []
    for block in anatomy.blocks():
        key, of_units = block.layer_key, block.layer_key[0].endswith(SUFFIX)
        if what in ("both", "units" if of_units else "heads"):
            bundles = [(number,) for number in range(block.count)] if of_units else groups[key]
            step = multiple if of_units else len(bundles[0])
            options = _options(block.count, step, at_least_units if of_units else at_least)
            numbers = (
                anatomy.feed_forward(key[0].removesuffix(SUFFIX), key[1]).units
                if of_units
                else (anatomy.attention(*key).heads)
            )
            blocks.append(Block(key, numbers, options, _table(costs[key], block.count)[list(options)], tuple(bundles)))
    return blocks


def grouped_costs(head: float, group: float, groups: int, count: int) -> np.ndarray:
    """[kept]: the most that a block with key/value groups can cost, for `read_blocks` with `by="head"`.

    `head`: of a query head alone; `group`: of a group's keys and values, which go only with its last head. Which heads
    stay is not known when numbers are chosen, so they are counted as if spread over as many groups as possible.

    >>> grouped_costs(1, 10, groups=2, count=4).tolist()
    [0.0, 11.0, 22.0, 23.0, 24.0]
    """
    kept = np.arange(count + 1)
    return np.asarray(kept * float(head) + np.minimum(kept, groups) * float(group))


def selection_of(anatomy: Anatomy, removed: Iterable[tuple[Block, Sequence[int]]]) -> Selection:
    """The heads and units with these indices in their blocks."""
    heads: list[str] = []
    units: dict[LayerKey, list[int]] = {}
    layout = anatomy.layout
    for block, indices in removed:
        stack, layer = block.key
        numbers = [block.numbers[index] for index in indices]
        if stack.endswith(SUFFIX):
            units[stack.removesuffix(SUFFIX), layer] = numbers
        else:
            heads += [f"{stack}.L{layer}H{number}" for number in numbers]
    return Selection(HeadSet.of(heads, layout), UnitSet.at(units, anatomy.units))


def removed_of(selection: Selection, block: Block) -> np.ndarray:
    """[head or unit]: whether a selection has it, in the order of the block's numbers."""
    stack, layer = block.key
    chosen: set[int]
    if stack.endswith(SUFFIX):
        chosen = set(selection.units.by_layer().get((stack.removesuffix(SUFFIX), layer), ()))
    else:
        chosen = {head.head for head in selection.heads if (head.stack, head.layer) == block.key}
    return np.array([number in chosen for number in block.numbers], dtype=bool)


def _options(count: int, step: int, at_least: int) -> tuple[int, ...]:
    least = min(at_least, count)
    return tuple(sorted({kept for kept in (0, *range(step, count, step), count) if kept >= least}))


def _table(cost: Cost, count: int) -> np.ndarray:
    """[kept]: the cost of each number of kept heads or units."""
    table = np.asarray(cost, dtype=float)
    if table.ndim == 0:
        table = table * np.arange(count + 1)
    if table.shape != (count + 1,) or not np.isfinite(table).all():
        raise InvalidOption(
            f"got costs of shape {list(table.shape)} for a block of {count}; expected a finite number for each head or "
            f"unit, or a table of {count + 1} for 0 to {count} that are kept"
        )
    return table
