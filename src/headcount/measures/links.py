"""Do heads follow links between words, verb and subject, noun and pronoun, or just look that far away?"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from headcount.core.schema import Schema
from headcount.data.annotations import WORD_LINKS
from headcount.data.marks import Links
from headcount.measures.contract import SHARE, Question, Schemas, Seen, Setting, Values

NAMES = [
    f"{one} to {other}" for name in WORD_LINKS for one, other in (name.split("-"), reversed(name.split("-")))
]  # e.g. "verb to subject" and "subject to verb"


class WordLinks(Question):
    """The mean attention from one word of a link to the other: mean over the first word's pieces, sum over the other's.

    `control` is the attention of all other words of the text at the same offset: a head that looks one token back
    follows every link to a neighbour. `gain` is the difference. (The paper takes the largest weight of a text instead.)
    """

    name = "links"
    summary = "attention along verb-subject and noun-pronoun, beside the same offset elsewhere"
    paper = "Kovaleva 2019, section 4.5"
    schemas: ClassVar[Schemas] = {
        "attention": Schema("attention", SHARE, "high: follows the relation", (0, 1)),
        "control": Schema("same offset elsewhere", SHARE, "what the relation is held against", (0, 1)),
        "gain": Schema(
            "over the same offset elsewhere",
            SHARE,
            "above 0: follows the relation itself",
            (-1, 1),
            signed=True,
            most="follows {} (over its offset)",
            most_of=("verb to subject", "pronoun to noun"),
        ),
    }

    def lacking(self, setting: Setting) -> str | None:
        if not setting.annotated:
            return "the texts are not annotated (give CoNLL-U, or a table with heads)"
        return None if setting.linked else "the annotations tell no links between words (a tagger tells none)"

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"attention": ("link",), "control": ("link",), "gain": ("link",)}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"link": NAMES}

    def see(self, seen: Seen) -> Values:
        attention = torch.stack([_mean(seen, seen.queries.links.get(name)) for name in NAMES], -1)
        control = torch.stack([_mean(seen, seen.queries.links.get(f"{name} control")) for name in NAMES], -1)
        return {"attention": attention, "control": control, "gain": attention - control}


def _mean(seen: Seen, links: Links | None) -> Tensor:
    """[B, H]: NaN for a text without such a link."""
    batch, heads = seen.view.total.shape[:2]
    sums = torch.zeros(batch, heads, device=seen.view.total.device)
    if links is None or seen.stack == "cross":
        return sums / 0
    weights = seen.view.entries(links.example, links.source, links.target) * links.weight[:, None]
    sums.index_add_(0, links.example, weights.to(sums.dtype))
    known = torch.zeros(batch, device=sums.device).index_fill_(0, links.example, 1)[:, None]
    return torch.where(known > 0, sums, float("nan"))
