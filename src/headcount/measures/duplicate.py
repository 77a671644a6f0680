"""Does a head look back at the same token?"""

from __future__ import annotations

from typing import ClassVar

from headcount.core.schema import Schema
from headcount.measures.contract import SHARE, Schemas, share_of_attention
from headcount.measures.earlier import EarlierToken


class Duplicate(EarlierToken):
    """Attention from a token to its own earlier occurrences: the duplicate-token heads.

    The mean is over the tokens that have an earlier occurrence; attention to several is summed. `control`: what as many
    other tokens before it get on average. `gain`: the difference.
    """

    name = "duplicate"
    summary = "attention to earlier occurrences of the same token, beside other tokens; duplicate-token heads"
    paper = "Wang 2022, duplicate-token heads"
    distance = 0
    schemas: ClassVar[Schemas] = {
        "attention": share_of_attention("the same token before", "1: attends to nothing else", most=""),
        "control": Schema("Other earlier tokens (duplicates)", SHARE, "what duplicates are compared with", (0, 1)),
        "gain": Schema(
            "Attention to the same token before, beyond other tokens",
            SHARE,
            "above 0: more than other tokens get; 0.3 or more: a duplicate-token head",
            (-1, 1),
            signed=True,
            most="looks most at the same token before",
            role="duplicate token",
            does="Attends to the same token before",
            baseline=0.0,
            role_from=0.3,
            rank=9,
            main=True,
        ),
    }
