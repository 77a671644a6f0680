"""Which heads of a kind are still there after pruning by importance, and how many would be by chance?"""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
from scipy.stats import hypergeom

from headcount.core.heads import Head


def survivors(special: Mapping[Head, str], cuts: Iterable[tuple[str, int, Sequence[Head]]], heads: int) -> pd.DataFrame:
    """A row for each cut: how many of the `special` heads stay, with the names of those that go.

    `p_as_many` and `p_as_few`: how likely as many or more, as few or fewer would be if as many heads went at random.
    """
    rows = []
    for by, share, removed in cuts:
        gone = [name for head, name in special.items() if head in set(removed)]
        left = len(special) - len(gone)
        chance = hypergeom(heads, len(special), heads - len(removed))
        rows.append(
            {
                "by": by,
                "share": share,
                "special": len(special),
                "left": left,
                "by_chance": float(chance.mean()),
                "p_as_many": float(chance.sf(left - 1)),
                "p_as_few": float(chance.cdf(left)),
                "removed": " ".join(gone),
            }
        )
    return pd.DataFrame(rows)
