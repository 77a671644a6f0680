"""Whether the numbers that a user gave make sense: one rule for every verb."""

from __future__ import annotations

from headcount.errors import InvalidOption

LEAST = {"seed": 0, "max_length": 8}
"""What is not at least 1."""


def check_numbers(**numbers: int | None) -> None:
    """An error that names the first option that is too small; None is one that was not given.

    >>> check_numbers(limit=None, seed=0, max_length=128)
    """
    for name, number in numbers.items():
        least = LEAST.get(name, 1)
        if number is not None and number < least:
            raise InvalidOption(f"got {name}={number}; expected at least {least}")
