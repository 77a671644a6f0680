"""Fractions for options that take whole numbers are refused; the parser would round them silently."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args

from headcount.cli.arguments import arguments_of
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cyclopts import App

FRACTION = re.compile(r"[+-]?\d*\.\d*[1-9]\d*")


def check_whole_numbers(words: list[str], verbs: Iterable[App]) -> None:
    """Raise if an option that takes a whole number is given a fraction, on the command line or in a --config file."""
    for verb in verbs:
        for argument in arguments_of(verb):
            if int in (argument.hint, *get_args(argument.hint)):
                for name in argument.names:
                    value = _value(words, name)
                    if value is not None and FRACTION.fullmatch(value):
                        raise InvalidOption(f"got {name} {value}; expected a whole number")


def _value(words: list[str], name: str) -> str | None:
    from headcount.cli.stopping import option_value

    return option_value(words, name)
