"""The characters of cue words in a text, as `headcount cues` counts them; the page marks them."""

from __future__ import annotations

import re
from collections.abc import Sequence

Span = tuple[int, int]
_WORD, _APOSTROPHE = r"\w", "['\u2019]"


def find_spans(text: str, cues: Sequence[str], rule: str = "words", cased: bool = False) -> list[Span]:
    """The characters of every cue in a text, in the order of the text; overlapping ones are joined.

    >>> find_spans("Not this; do not, knot", ["not", "do not"])
    [(0, 3), (10, 16)]
    """
    if not cues:
        return []
    pattern = "|".join(_pattern(cue, rule) for cue in sorted(cues, key=len, reverse=True))
    joined: list[Span] = []
    # A look-ahead finds overlapping cues too: "do not" and "not ever" in "do not ever".
    for match in re.finditer(f"(?=({pattern}))", text, 0 if cased else re.IGNORECASE):
        start, end = match.span(1)
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _pattern(cue: str, rule: str) -> str:
    """The cue's tokens, with any white space between, and no part of a longer word."""
    spaced = r"\s*".join(re.escape(token) for token in cue.split(" "))
    if rule == "whitespace":
        return rf"(?<!\S){spaced}(?!\S)"
    before = rf"(?<!{_WORD})(?<!{_WORD}{_APOSTROPHE})" if re.match(_WORD, cue[0]) else ""
    after = rf"(?!{_WORD})(?!{_APOSTROPHE}{_WORD})" if re.match(_WORD, cue[-1]) else ""
    spaced = r"\s+".join(re.escape(token) for token in cue.split(" ")) if _all_words(cue) else spaced
    return f"{before}{spaced}{after}"


def _all_words(cue: str) -> bool:
    return all(re.match(_WORD, token) for token in cue.split(" "))
