"""A row of the tables: a command with the names of what it needs, and the words that its one line must have."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from string import Formatter

from tests.hard.shelf import Shelf


@dataclass(frozen=True)
class Row:
    """`{name}` in the command and in the words is the path of that thing on the shelf."""

    id: str
    command: str
    words: tuple[str, ...] = ()

    def arguments(self, shelf: Shelf) -> list[str]:
        return [word.format_map(shelf) for word in shlex.split(self.command)]

    def names(self) -> set[str]:
        """What the command needs of the shelf."""
        return {name for _, name, _, _ in Formatter().parse(self.command) if name}

    def missing(self, line: str, shelf: Shelf) -> list[str]:
        """The words that the line does not have; `a|b` is one of the two."""
        wanted = [[one.format_map(shelf) for one in word.split("|")] for word in self.words]
        return [" or ".join(either) for either in wanted if not any(one in line for one in either)]


def bad(id: str, command: str, *words: str) -> Row:
    """A command that must be refused, in one line with these words."""
    return Row(id, command, words)


def option(name: str) -> str:
    """An option by its name on the command line or in Python.

    >>> option("max-length")
    'max-length|max_length'
    """
    return f"{name}|{name.replace('-', '_')}"


def over(commands: dict[str, str], fault: str, *words: str) -> Iterable[Row]:
    """The same fault in the command of every verb."""
    return [Row(f"{verb}: {fault}", command, words) for verb, command in commands.items()]
