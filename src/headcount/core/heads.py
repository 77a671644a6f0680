"""Attention heads: their names, the heads that a model has, and sets of heads.

A head is written `L3H7` (layer 3, head 7, counted from 0), a layer `L3`, a range `L3H0-5`;
in a model with several stacks the name of the stack comes first: `encoder.L3H7`, `cross.L3`.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

from headcount.errors import UnknownHead

_SPELLING = re.compile(r"(?:([a-z]+)\.)?L(\d+)(?:H(\d+)(?:-(\d+))?)?")


def is_name(text: str) -> bool:
    """Whether this is how a head, a layer or a range of heads is written, in capitals or not.

    >>> is_name("l3h7"), is_name("cross.L3"), is_name("demo-out")
    (True, True, False)
    """
    return _SPELLING.fullmatch(_in_capitals(text)) is not None


def _in_capitals(text: str) -> str:
    """A name such as `Cross.l3h7` as it is written: `cross.L3H7`."""
    stack, dot, name = text.strip().rpartition(".")
    return f"{stack.lower()}{dot}{name.upper()}"


@dataclass(frozen=True, order=True)
class Head:
    """One attention head.

    >>> str(Head("cross", 3, 7))
    'cross.L3H7'
    """

    stack: str
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.stack}.L{self.layer}H{self.head}"


@dataclass(frozen=True)
class Stacks:
    """The numbers of what each layer of each stack has: heads, or feed-forward units."""

    stacks: Mapping[str, tuple[tuple[int, ...], ...]]
    noun: ClassVar[str]
    """What is numbered."""
    lacking: ClassVar[str]
    """What a model without a stack lacks."""

    @property
    def count(self) -> int:
        return sum(len(numbers) for layers in self.stacks.values() for numbers in layers)

    def layers(self, stack: str) -> int:
        return len(self.stacks[stack])

    def width(self, stack: str) -> int:
        """The size of the stack's axis of heads or units: one more than its largest number."""
        return max((numbers[-1] + 1 for numbers in self.stacks[stack] if numbers), default=0)

    def spell_layer(self, stack: str, layer: int) -> str:
        raise NotImplementedError

    def find_numbers(self, match: re.Match[str]) -> tuple[str, int, tuple[int, ...]]:
        """The stack, the layer and the numbers of a name: its groups are stack, layer, first and last number."""
        text = match[0]
        stack = self._stack(match[1], text)
        layer = int(match[2])
        if layer >= self.layers(stack):
            raise UnknownHead(
                f"got {text!r}, but the model has layers L0 to L{self.layers(stack) - 1}"
                f"{' in its ' + stack if len(self.stacks) > 1 else ''}; layers are counted from 0"
            )
        present = self.stacks[stack][layer]
        numbers: Sequence[int] = present
        if match[3] is not None:
            numbers = range(int(match[3]), int(match[4] or match[3]) + 1)
        if not numbers or not set(numbers) <= set(present):
            has = f"{self.noun} {spell_ranges(present)}" if present else f"no {self.noun}"
            raise UnknownHead(
                f"got {text!r}, but {self.spell_layer(stack, layer)} has {has}; {self.noun} are counted from 0"
            )
        return stack, layer, tuple(numbers)

    def _stack(self, stack: str | None, text: str) -> str:
        if stack is None and len(self.stacks) > 1:
            names = ", ".join(f"{name}.{text}" for name in self.stacks)
            raise UnknownHead(f"got {text!r}, but the model has several stacks; write one of {names}")
        if stack is not None and stack not in self.stacks:
            raise UnknownHead(
                f"got {text!r}, but the model has {self.lacking} {stack!r}; it has {', '.join(self.stacks)}"
            )
        return stack or next(iter(self.stacks))


@dataclass(frozen=True)
class Layout(Stacks):
    """The heads of a model: for each stack, the numbers of the heads in each of its layers.

    Pruning does not renumber heads: afterwards some numbers are absent.

    >>> layout = Layout.even({"encoder": (2, 4)})
    >>> layout.count, layout.spell(Head("encoder", 1, 3))
    (8, 'L1H3')
    """

    noun = "heads"
    lacking = "no stack"

    @classmethod
    def even(cls, shapes: Mapping[str, tuple[int, int]]) -> Layout:
        """A layout whose stacks have `layers` layers of `heads` heads each."""
        return cls({stack: (tuple(range(heads)),) * layers for stack, (layers, heads) in shapes.items()})

    def __iter__(self) -> Iterator[Head]:
        for stack, layers in self.stacks.items():
            for layer, heads in enumerate(layers):
                for head in heads:
                    yield Head(stack, layer, head)

    def depth(self, head: Head) -> int:
        """The number of the head's layer in the order of a pass: a decoder's layers come after those of its encoder."""
        return head.layer if head.stack == "encoder" else len(self.stacks.get("encoder", ())) + head.layer

    def spell(self, head: Head) -> str:
        """The head's name in this model: without the stack where there is only one."""
        return str(head) if len(self.stacks) > 1 else str(head).partition(".")[2]

    def spell_layer(self, stack: str, layer: int) -> str:
        """`L3`, or `cross.L3` where there are several stacks; `L3U` for the key of a layer's feed-forward block."""
        stack, _, units = stack.partition(".")
        name = f"L{layer}{'U' if units else ''}"
        return f"{stack}.{name}" if len(self.stacks) > 1 else name

    def find(self, text: str) -> tuple[Head, ...]:
        """The heads that a name such as `L3H7`, `L3H0-5` or `cross.L3` stands for."""
        match = _SPELLING.fullmatch(text.strip())
        if not match:
            if is_name(text):
                raise UnknownHead(f"got {text!r} for a head; expected {_in_capitals(text)}, with capital letters")
            raise UnknownHead(
                f"got {text!r} for a head; expected L3H7 (a head), L3 (a layer), L3H0-5 (a range), "
                "with encoder., decoder. or cross. in front where the model has several stacks"
            )
        stack, layer, numbers = self.find_numbers(match)
        return tuple(Head(stack, layer, number) for number in numbers)


@dataclass(frozen=True)
class HeadSet:
    """A set of heads of one layout, in the order of stack, layer and head.

    >>> layout = Layout.even({"encoder": (3, 4)})
    >>> some = HeadSet.of(["L0H1-2", "L2"], layout)
    >>> str(some), len(some)
    ('L0H1-2, L2', 6)
    >>> str(~some)
    'L0H0, L0H3, L1'
    """

    heads: frozenset[Head]
    layout: Layout

    @classmethod
    def of(cls, names: Heads, layout: Layout) -> HeadSet:
        """The heads with these names; a string may hold several, separated by commas or spaces.

        A model with one stack also takes a dict from layers to heads, `{3: [1, 7]}`, as in transformers 4.
        """
        if isinstance(names, Mapping):
            names = _from_numbers(names, layout)
        if isinstance(names, HeadSet):
            names = list(names)
        if isinstance(names, str):
            names = names.replace(",", " ").split()
        if isinstance(names, Head):
            names = [names]
        if not isinstance(names, Iterable):
            raise UnknownHead(f"got {names!r} for heads; expected some such as 'L3H7,L5' or ['L3H7', 'L5']")
        heads: set[Head] = set()
        for name in names:
            if not isinstance(name, str | Head):
                raise UnknownHead(f"got {name!r} for a head; expected a string such as 'L3H7'")
            heads.update(layout.find(str(name)))
        return cls(frozenset(heads), layout)

    @classmethod
    def all(cls, layout: Layout) -> HeadSet:
        return cls(frozenset(layout), layout)

    def by_layer(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """The head numbers of the set by (stack, layer), without layers that have none."""
        layers: dict[tuple[str, int], tuple[int, ...]] = {}
        for head in self:
            layers[head.stack, head.layer] = (*layers.get((head.stack, head.layer), ()), head.head)
        return layers

    def plan(self) -> str:
        """A line for each layer with heads in the set: which heads, of how many."""
        lines = [
            f"{self.layout.spell_layer(stack, layer):>12}  heads {spell_ranges(heads)}"
            f"  ({len(heads)} of {len(self.layout.stacks[stack][layer])})"
            for (stack, layer), heads in self.by_layer().items()
        ]
        return "\n".join([*lines, f"{'together':>12}  {len(self)} of {self.layout.count} heads"])

    def __iter__(self) -> Iterator[Head]:
        order = {stack: number for number, stack in enumerate(self.layout.stacks)}
        return iter(sorted(self.heads, key=lambda head: (order[head.stack], head.layer, head.head)))

    def __len__(self) -> int:
        return len(self.heads)

    def __contains__(self, head: object) -> bool:
        return head in self.heads

    def __or__(self, other: HeadSet) -> HeadSet:
        return HeadSet(self.heads | other.heads, self.layout)

    def __and__(self, other: HeadSet) -> HeadSet:
        return HeadSet(self.heads & other.heads, self.layout)

    def __sub__(self, other: HeadSet) -> HeadSet:
        return HeadSet(self.heads - other.heads, self.layout)

    def __invert__(self) -> HeadSet:
        return HeadSet.all(self.layout) - self

    def __str__(self) -> str:
        words = []
        for (stack, layer), heads in self.by_layer().items():
            name = self.layout.spell_layer(stack, layer)
            if heads == self.layout.stacks[stack][layer]:
                words.append(name)
            else:
                words += [f"{name}H{part}" for part in spell_ranges(heads).split(", ")]
        return ", ".join(words)


Heads = str | Head | HeadSet | Iterable[str | Head] | Mapping[int, Iterable[int]]
"""Everything that `HeadSet.of` takes."""


def _from_numbers(heads: Mapping[int, Iterable[int]], layout: Layout) -> list[str]:
    """Names from a dict from layers to heads."""
    names = []
    for layer, listed in heads.items():
        numbers = list(listed) if isinstance(listed, Iterable) and not isinstance(listed, str | Mapping) else [None]
        if not all(map(_is_number, [layer, *numbers])):
            raise UnknownHead(
                f"got the entry {layer!r}: {reprlib.repr(listed)} in a dict of heads; expected a layer and a list of "
                "its heads, both as numbers, such as 3: [1, 7], or names instead of a dict, such as ['L3H1', 'L3H7']"
            )
        names += [f"L{layer}H{number}" for number in numbers]
    if len(layout.stacks) > 1:
        raise UnknownHead(
            "got a dict from layers to heads for a model with several stacks; "
            f"expected names such as {', '.join(repr(f'{stack}.L3H1') for stack in layout.stacks)}"
        )
    return names


def _is_number(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def spell_ranges(numbers: tuple[int, ...]) -> str:
    """`0-3, 7` for (0, 1, 2, 3, 7)."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
