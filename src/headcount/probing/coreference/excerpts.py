"""The part of a long text that an arc is shown in: some words around each of its ends."""

from __future__ import annotations

from collections.abc import Sequence

from headcount.probing.words.contract import Arc

AROUND = 4
"""Words before and after each end of an arc."""
GAP = "…"


def cut_excerpt(words: Sequence[str], arc: Arc) -> tuple[list[str], list[Arc]]:
    """The words around the ends of an arc, with "…" for what is left out, and the arc counted in these words.

    >>> cut_excerpt([*"abcdefghijklmnopqrstuvwxyz"], (20, 2, 2))
    (['a', 'b', 'c', 'd', 'e', 'f', 'g', '…', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', '…'], [(12, 2, 2)])
    """
    near = sorted({word for end in arc for word in range(end - AROUND, end + AROUND + 1) if 0 <= word < len(words)})
    shown, at = [], {}
    for number, word in enumerate(near):
        if word and (not number or near[number - 1] != word - 1):
            shown.append(GAP)
        at[word] = len(shown)
        shown.append(words[word])
    if near[-1] < len(words) - 1:
        shown.append(GAP)
    one, other, third = (at[end] for end in arc)
    return shown, [(one, other, third)]
