"""The i-th part of the work: for arrays of jobs and several machines, without any engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headcount.errors import InvalidOption


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) of `count`.

    >>> Shard.parse("2/3").mine(range(7))
    [1, 4]
    """

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str | None) -> Shard:
        if text is None:
            return cls()
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise InvalidOption(f"got the shard {text!r}; expected i/n with i from 1 to n, such as 1/4")
        return cls(int(match[1]), int(match[2]))

    def mine(self, units: Iterable[int]) -> list[int]:
        return [unit for unit in units if unit % self.count == self.number - 1]


def run_units(done: Sequence[bool], shard: Shard, work: Callable[[int], Any], save: Callable[[int, Any], None]) -> None:
    """Work on this shard's units that are not done yet, saving each."""
    for unit in shard.mine(number for number, finished in enumerate(done) if not finished):
        save(unit, work(unit))
