"""Feed-forward units: their names, those that a model has, sets of them, and selections of heads and units.

A unit is one number of a layer's feed-forward block: what its activation function gives, before the output projection.
It is written `L3U7` (layer 3, unit 7, counted from 0), a range `L3U0-511`, all units of a layer `L3U`; in a model with
several stacks the name of the stack comes first: `decoder.L3U7`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from headcount.core.heads import HeadSet, Layout, Stacks, spell_ranges
from headcount.errors import UnknownHead

_SPELLING = re.compile(r"(?:([a-z]+)\.)?L(\d+)U(?:(\d+)(?:-(\d+))?)?")
SUFFIX = ".units"
"""Follows the name of a stack in the key of a layer's feed-forward block, which its attention has without it."""
NO_RECORD = (
    "this model's type has no record of its feed-forward layers, so that its units cannot be named; its heads can be"
)
WHATS = ("heads", "units", "both")
"""What a function is asked about, or may remove."""
EXPERTS = (
    "this model's feed-forward layers are mixtures of experts, whose units cannot be removed yet; its heads can be"
)


def is_unit(text: str) -> bool:
    """Whether this is how units are written.

    >>> is_unit("L3U7"), is_unit("L3H7")
    (True, False)
    """
    return _SPELLING.fullmatch(text.strip()) is not None


@dataclass(frozen=True)
class UnitLayout(Stacks):
    """The feed-forward units of a model: for each stack, the numbers of the units in each of its layers.

    Pruning does not renumber units: afterwards some numbers are absent. `missing` says why a model has none that can be
    named.

    >>> layout = UnitLayout({"encoder": ((0, 1, 2, 3), (0, 1, 2, 3))})
    >>> layout.count, layout.find("L1U0-2")
    (8, ('encoder', 1, (0, 1, 2)))
    """

    missing: str = NO_RECORD
    noun = "units"
    lacking = "no feed-forward layers in a stack"

    def spell_layer(self, stack: str, layer: int) -> str:
        return f"{stack}.L{layer}U" if len(self.stacks) > 1 else f"L{layer}U"

    def check(self) -> None:
        """An error for a model whose units are not known."""
        if not self.stacks:
            raise UnknownHead(f"{self.missing}: leave the units out (what='heads')")

    def find(self, text: str) -> tuple[str, int, tuple[int, ...]]:
        """The stack, the layer and the units that a name such as `L3U7`, `L3U0-511` or `L3U` stands for."""
        match = _SPELLING.fullmatch(text.strip())
        if not match:
            raise UnknownHead(
                f"got {text!r} for units; expected L3U7 (a unit), L3U0-511 (a range), L3U (all of a layer), with "
                "encoder. or decoder. in front where the model has several stacks"
            )
        self.check()
        return self.find_numbers(match)


@dataclass(frozen=True)
class UnitSet:
    """A set of units of one layout, by stack and layer.

    >>> layout = UnitLayout({"encoder": ((0, 1, 2, 3), (0, 1, 2, 3))})
    >>> some = UnitSet.of(["L0U1-2", "L1U"], layout)
    >>> str(some), len(some), str(~some)
    ('L0U1-2, L1U', 6, 'L0U0, L0U3')
    """

    units: Mapping[tuple[str, int], tuple[int, ...]]
    """In the order of a pass, without layers that have none; the numbers ascend."""
    layout: UnitLayout

    @classmethod
    def of(cls, names: Iterable[str] | UnitSet, layout: UnitLayout) -> UnitSet:
        """The units with these names, or the same units of another layout."""
        if isinstance(names, UnitSet):
            names = [
                f"{stack}.L{layer}U{part}"
                for (stack, layer), numbers in names.units.items()
                for part in spell_ranges(numbers).split(", ")
            ]
        found: dict[tuple[str, int], set[int]] = {}
        for name in names:
            stack, layer, numbers = layout.find(name)
            found.setdefault((stack, layer), set()).update(numbers)
        return cls.at(found, layout)

    @classmethod
    def at(cls, numbers: Mapping[tuple[str, int], Iterable[int]], layout: UnitLayout) -> UnitSet:
        """The units with these numbers, by stack and layer."""
        units = {}
        for stack, layers in layout.stacks.items():
            for layer in range(len(layers)):
                chosen = tuple(sorted(set(map(int, numbers.get((stack, layer), ())))))
                if chosen:
                    units[stack, layer] = chosen
        return cls(units, layout)

    @classmethod
    def all(cls, layout: UnitLayout) -> UnitSet:
        return cls.at(
            {(stack, layer): units for stack, layers in layout.stacks.items() for layer, units in enumerate(layers)},
            layout,
        )

    def by_layer(self) -> Mapping[tuple[str, int], tuple[int, ...]]:
        return self.units

    def __len__(self) -> int:
        return sum(map(len, self.units.values()))

    def __iter__(self) -> Iterator[tuple[str, int, int]]:
        return chain.from_iterable(((*key, unit) for unit in numbers) for key, numbers in self.units.items())

    def __or__(self, other: UnitSet) -> UnitSet:
        keys = {*self.units, *other.units}
        return UnitSet.at({key: (*self.units.get(key, ()), *other.units.get(key, ())) for key in keys}, self.layout)

    def __sub__(self, other: UnitSet) -> UnitSet:
        return UnitSet.at(
            {key: {*units} - {*other.units.get(key, ())} for key, units in self.units.items()}, self.layout
        )

    def __invert__(self) -> UnitSet:
        return UnitSet.all(self.layout) - self

    def __str__(self) -> str:
        words = []
        for (stack, layer), units in self.units.items():
            name = self.layout.spell_layer(stack, layer)
            if units == self.layout.stacks[stack][layer]:
                words.append(name)
            else:
                words += [f"{name}{part}" for part in spell_ranges(units).split(", ")]
        return ", ".join(words)


@dataclass(frozen=True)
class Selection:
    """Heads and feed-forward units that are ablated or removed together.

    >>> layout, units = Layout.even({"encoder": (2, 4)}), UnitLayout({"encoder": ((0, 1, 2), (0, 1, 2))})
    >>> both = Selection.of("L0H1, L1U0-1", layout, units)
    >>> str(both), len(both.heads), len(both.units)
    ('L0H1, L1U0-1', 1, 2)
    """

    heads: HeadSet
    units: UnitSet

    @classmethod
    def of(cls, names: Any, layout: Layout, units: UnitLayout) -> Selection:
        """The heads and units with these names: what `HeadSet.of` takes, and names of units among the others."""
        if isinstance(names, Selection):
            return cls(HeadSet.of(names.heads, layout), UnitSet.of(names.units, units))
        if isinstance(names, UnitSet):
            return cls(HeadSet.of((), layout), UnitSet.of(names, units))
        if isinstance(names, str):
            names = names.replace(",", " ").split()
        if isinstance(names, Mapping | HeadSet) or not isinstance(names, Iterable):
            return cls(HeadSet.of(names, layout), UnitSet({}, units))
        names = list(names)
        of_units = [name for name in names if isinstance(name, str) and "U" in name]
        return cls(
            HeadSet.of([name for name in names if not (isinstance(name, str) and "U" in name)], layout),
            UnitSet.of(of_units, units),
        )

    def __or__(self, other: Selection) -> Selection:
        return Selection(self.heads | other.heads, self.units | other.units)

    def __len__(self) -> int:
        return len(self.heads) + len(self.units)

    def __str__(self) -> str:
        return ", ".join(filter(None, (str(self.heads), str(self.units))))
