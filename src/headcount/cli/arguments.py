"""The arguments of a verb: read from its signature once in a process, as every command asks for them several times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts import App, ArgumentCollection

_READ: dict[Any, ArgumentCollection] = {}
"""By the verb's function."""


def arguments_of(verb: App) -> ArgumentCollection:
    """The arguments of a verb, to be looked at only: the parser fills in a collection of its own."""
    function = verb.default_command
    if function not in _READ:
        _READ[function] = verb.assemble_argument_collection()
    return _READ[function]
