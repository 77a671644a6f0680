"""Do heads attend to nouns, verbs, pronouns, subjects, objects, negation, [CLS], [SEP] or punctuation?"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from headcount.core.schema import Schema
from headcount.data.annotations import WORD_CLASSES
from headcount.measures.contract import SHARE, Question, Schemas, Seen, Setting, Values

MARKS = ("cls", "sep", "punctuation")
"""Full stop and comma are a kind where [CLS] and [SEP] are: the paper compares these three."""


class Features(Question):
    """The largest share of all attention that a token of the kind gets: max over them of the column sum / length.

    Texts without the kind are left out, as the paper says (its code counts them as 0). `from_first`: the largest weight
    that the first token gives to one of them; in the last layer this is the paper's Figure 7.
    """

    name = "features"
    summary = "largest share of attention on a noun, verb, pronoun, subject, object, negation, [CLS], [SEP], mark"
    paper = "Kovaleva 2019, sections 4.4 and 4.5, Figs 6 and 7"
    schemas: ClassVar[Schemas] = {
        "attention": Schema("attention to a word of this kind", SHARE, "the largest weight on one", (0, 1)),
        "from_first": Schema("attention from the first token", SHARE, "the largest weight on one", (0, 1)),
    }

    def lacking(self, setting: Setting) -> str | None:
        if not self._kinds(setting.classes):
            return "the model has no [CLS] and [SEP], and the texts have no word classes"
        return None

    @staticmethod
    def _kinds(classes: tuple[str, ...]) -> list[str]:
        marks = MARKS if "cls" in classes else ()
        return [name for name in (*WORD_CLASSES, *marks) if name in classes]

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"attention": ("feature",), "from_first": ("feature",)}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"feature": self._kinds(setting.classes)}

    def see(self, seen: Seen) -> Values:
        queries = seen.queries.real
        share = seen.view.received(queries) / queries.sum(-1)[:, None, None]
        first = seen.view.row(0)
        kinds = [seen.keys.classes[name] for name in self._kinds(seen.classes)]
        return {
            "attention": torch.stack([_largest(share, kind) for kind in kinds], -1),
            "from_first": torch.stack([_largest(first, kind) for kind in kinds], -1),
        }


def _largest(values: Tensor, kind: Tensor) -> Tensor:
    """The largest of values [B, H, K] at the places of `kind` [B, K]; NaN where there is none."""
    largest = values.masked_fill(kind[:, None] == 0, -1.0).amax(-1)
    return torch.where(largest < 0, float("nan"), largest)
