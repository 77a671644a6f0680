"""The ranges of options that are numbers: one table for all verbs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from headcount.errors import InvalidOption

LEAST = {
    "at_least": 0,
    "checkpoints": 0,
    "control": 0,
    "max_length": 8,
    "passes": 0,
    "randoms": 0,
    "recover": 0,
    "ridge": 0,
    "seed": 0,
    "subsets": 0,
    "text": 0,
    "tolerance": 0,
    "warmup_steps": 0,
    "weight_decay": 0,
}
"""Options whose least value is not 1."""
ABOVE_ZERO = frozenset(("learning_rate", "num_train_epochs", "stop_when", "temperature", "train_weights"))
BELOW = {"seed": 2**32}
"""numpy takes no larger seeds."""
MOST = 2**31 - 1
"""No integer option needs to be larger, and numpy and torch often take no larger ones."""


def check_numbers(**numbers: float | None) -> None:
    """Refuse the first option that is too small, too large or not a number; None means not given.

    >>> check_numbers(limit=None, seed=0, max_length=128, num_train_epochs=0.5)
    """
    for name, number in numbers.items():
        if number is not None and not _fits(name, number):
            raise InvalidOption(f"got {name}={number}; expected {_expected(name, number)}")


def check_all(options: Mapping[str, object]) -> None:
    """Check those of a command's options that are numbers."""
    check_numbers(
        **{
            name: value
            for name, value in options.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
    )


def _fits(name: str, number: float) -> bool:
    enough = number > 0 if name in ABOVE_ZERO else number >= LEAST.get(name, 1)
    most = MOST + 1 if isinstance(number, int) else math.inf
    return enough and number < BELOW.get(name, most)


def _expected(name: str, number: float) -> str:
    words = "above 0" if name in ABOVE_ZERO else f"at least {LEAST.get(name, 1)}"
    if name in BELOW:
        return f"{words} and below {BELOW[name]}"
    if math.isinf(number) or math.isnan(number):
        return f"a finite number, {words}"
    return f"at most {MOST}" if number > MOST else words
