"""Paths from one head to a later one: which pairs there are, through which input, and how they lie along the axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headcount.ablation.choices import Choices
from headcount.core.heads import Head, Heads, HeadSet, Layout
from headcount.core.options import no_repeats, one_of
from headcount.errors import InvalidOption

INTO = ("query", "key", "value", "all")
"""What of the later head changes; `all` of the three at once."""


@dataclass(frozen=True)
class Paths:
    """Each head through each later one of its stack, `among` these heads; `into`: what of the later one changes."""

    among: Heads
    into: tuple[str, ...] = INTO


@dataclass(frozen=True)
class PathChoices(Choices):
    """The paths of a sweep: `keys` are (sender, receiver, into), `sets` the receivers."""

    @property
    def dims(self) -> tuple[str, ...]:
        return ("sender", "receiver", "into")

    @property
    def group(self) -> str:
        return "paths/"

    @property
    def identity(self) -> list[str]:
        return self.names()

    @cached_property
    def senders(self) -> list[Head]:
        return list(dict.fromkeys(sender for sender, _, _ in self.keys))

    @cached_property
    def receivers(self) -> list[Head]:
        return sorted({receiver for _, receiver, _ in self.keys})

    @property
    def replaced(self) -> Choices:
        """The senders, one at a time."""
        sets = tuple(HeadSet.of(sender, self.layout) for sender in self.senders)
        return Choices("head", self.layout, tuple(self.senders), sets)

    def from_sender(self, sender: Head) -> list[int]:
        """The numbers of the paths that begin at a head."""
        return [number for number, key in enumerate(self.keys) if key[0] == sender]

    @cached_property
    def _places(self) -> tuple[dict[Head, int], dict[Head, int], dict[str, int]]:
        """Where senders, receivers and what is read stand along their axes."""
        into = dict.fromkeys(into for _, _, into in self.keys)
        senders, receivers = ({head: n for n, head in enumerate(heads)} for heads in (self.senders, self.receivers))
        return senders, receivers, {name: number for number, name in enumerate(into)}

    def coords(self) -> dict[str, Any]:
        return {
            "sender": [self.layout.spell(head) for head in self.senders],
            "receiver": [self.layout.spell(head) for head in self.receivers],
            "into": list(dict.fromkeys(into for _, _, into in self.keys)),
        }

    def index(self, number: int) -> tuple[int, ...]:
        sender, receiver, into = self.keys[number]
        senders, receivers, read = self._places
        return senders[sender], receivers[receiver], read[into]

    def arrange(self, values: Sequence[Any]) -> np.ndarray:
        shape = tuple(len(labels) for labels in self.coords().values())
        full = np.full((*shape, *np.shape(values[0])), np.nan)
        for number, value in enumerate(values):
            full[self.index(number)] = value
        return full

    def names(self) -> list[str]:
        spell = self.layout.spell
        return [f"{spell(sender)} to {into} of {spell(receiver)}" for sender, receiver, into in self.keys]


def choose_paths(layout: Layout, paths: Paths) -> PathChoices:
    """All paths among some heads.

    >>> choose_paths(Layout.even({"encoder": (2, 3)}), Paths("L0H1, L1H2", ("query",))).names()
    ['L0H1 to query of L1H2']
    """
    no_repeats("into", paths.into)
    for into in paths.into:
        one_of("into", into, INTO)
    if not paths.into:
        raise InvalidOption(f"got no into=; expected some of {', '.join(INTO)}")
    heads = list(HeadSet.of(paths.among, layout))
    if len(heads) < 2:
        raise InvalidOption(f"got among= with {len(heads)} head; expected at least two, such as 'L3H1,L9H6'")
    crossing = [head for head in heads if head.stack == "cross"]
    if crossing:
        raise InvalidOption(
            f"got {layout.spell(crossing[0])} in among=: cross attention reads two streams; expected heads of the "
            "encoder's or the decoder's own attention"
        )
    keys = tuple(
        (sender, receiver, into)
        for sender in heads
        for receiver in heads
        if sender.stack == receiver.stack and sender.layer < receiver.layer
        for into in paths.into
    )
    if not keys:
        raise InvalidOption(
            f"got among={HeadSet.of(heads, layout)}: none of them reads what another one writes; expected heads of "
            "different layers of one stack"
        )
    return PathChoices("path", layout, keys, tuple(HeadSet.of(receiver, layout) for _, receiver, _ in keys))
