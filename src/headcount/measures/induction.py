"""Does a head look for what came next the last time?"""

from __future__ import annotations

from typing import ClassVar

from headcount.core.schema import Schema
from headcount.measures.contract import SHARE, Schemas, share_of_attention
from headcount.measures.earlier import EarlierToken


class Induction(EarlierToken):
    """Attention from a token to the token that followed its earlier occurrence, the prefix-matching score.

    After "A B ... A" it is the attention from the second A to B. The mean is over the tokens whose earlier occurrence
    has a successor before the token itself; of several occurrences the successors' attention is summed. `control`: what
    as many other tokens before it get on average. `gain`: the difference. The paper asks this of random tokens that
    are repeated; any text with repeated tokens will do.
    """

    name = "induction"
    summary = "attention to the token that followed the same token before, beside other tokens; induction heads"
    paper = "Olsson 2022, prefix matching"
    distance = 1
    schemas: ClassVar[Schemas] = {
        "attention": share_of_attention("what followed the same token before", "1: attends to nothing else", most=""),
        "control": Schema("Other earlier tokens (induction)", SHARE, "what induction is compared with", (0, 1)),
        "gain": Schema(
            "Induction: what followed the same token before, over other tokens",
            SHARE,
            "above 0: more than other tokens get; 0.3 or more: an induction head",
            (-1, 1),
            signed=True,
            most="strongest induction (over other tokens)",
            role="induction",
            does="Attends to what followed the same token before",
            baseline=0.0,
            role_from=0.3,
            rank=8,
            main=True,
        ),
    }
