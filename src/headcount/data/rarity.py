"""The rarest token of each text, counted over all texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from headcount.data.marks import Facts

RAREST = "rarest"


def mark_rarest(texts: Sequence[Sequence[int]], facts: Sequence[Facts]) -> None:
    """Add the class `rarest` to the facts: the token of each text that is least frequent in all texts together.

    Special tokens and punctuation are not candidates. Of several tokens the one with the highest id counts, since
    vocabularies list frequent pieces first, and of its positions the first.

    >>> text = Facts(3, [0] * 3, [-1] * 3, {"other": [0, 1, 2]})
    >>> mark_rarest([[7, 5, 7]], [text])
    >>> text.classes["rarest"]
    [1]
    """
    counts = Counter(ids[at] for ids, text in zip(texts, facts, strict=True) for at in text.classes.get("other", []))
    for ids, text in zip(texts, facts, strict=True):
        positions = text.classes.get("other", [])
        text.classes[RAREST] = [min(positions, key=lambda at: (counts[ids[at]], -ids[at], at))] if positions else []
