"""Which token of each text is its rarest? Told by the texts themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from headcount.data.marks import Facts

RAREST = "rarest"


def mark_rarest(texts: Sequence[Sequence[int]], facts: Sequence[Facts]) -> None:
    """Add the class `rarest` to the facts: the token of each text that all the texts together have least often.

    Special tokens and punctuation are no candidates. Of several the one with the highest number in the vocabulary
    counts, since vocabularies are made with the frequent pieces first, and of its places the first.

    >>> one = Facts(3, [0] * 3, [-1] * 3, {"other": [0, 1, 2]})
    >>> mark_rarest([[7, 5, 7]], [one])
    >>> one.classes["rarest"]
    [1]
    """
    counts = Counter(
        ids[place] for ids, one in zip(texts, facts, strict=True) for place in one.classes.get("other", [])
    )
    for ids, one in zip(texts, facts, strict=True):
        places = one.classes.get("other", [])
        one.classes[RAREST] = [min(places, key=lambda at: (counts[ids[at]], -ids[at], at))] if places else []
