"""The colours of categories, by number: the page's script has the same list, and figures draw with it."""

from __future__ import annotations

KINDS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#cc79a7",
    "#56b4e9",
    "#d8c400",
    "#1f8fa3",
    "#7b4fc9",
    "#a0622d",
    "#52b415",
    "#40b0a6",
    "#8a6a5c",
    "#8f9a12",
    "#ff9da7",
    "#4a68d8",
    "#b39ddb",
    "#c2385e",
    "#a8c75a",
    "#d14be0",
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
