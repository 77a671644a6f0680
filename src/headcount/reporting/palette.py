"""The colours of categories, by number: the page's script has the same list, and figures draw with it."""

from __future__ import annotations

KINDS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#cc79a7",
    "#56b4e9",
    "#f0e442",
    "#00687a",
    "#4b0092",
    "#994f00",
    "#1aff1a",
    "#40b0a6",
    "#8c1d40",
    "#a6a600",
    "#ff9da7",
    "#1f3a93",
    "#b39ddb",
    "#5d4037",
    "#c5e17a",
    "#e040fb",
)
"""Of roles by their numbers (`story/role_names.py`), and of other categories in their order; grey is for none."""
PATTERNS = ("#762a83", "#b07cc6", "#e7298a", "#5aae61", "#a6761d")
"""Of patterns, a family of its own: a role and a pattern never look the same."""
FIRST_PATTERN = len(KINDS)
"""The number of the first pattern's colour."""


def pattern_colours(count: int) -> list[int]:
    """The numbers of the colours of patterns, in their order.

    >>> pattern_colours(2)
    [20, 21]
    """
    return [FIRST_PATTERN + kind % len(PATTERNS) for kind in range(count)]
