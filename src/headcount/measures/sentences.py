"""Does a head stay within the sentence it reads, or look across to the other one of a pair?"""

from __future__ import annotations

from typing import ClassVar

import torch

from headcount.measures.contract import Question, Schemas, Seen, Setting, Values, chance_of, share_of_attention


class Sentences(Question):
    """Mean attention of a pair's tokens to those of their own and of the other text, [CLS] and [SEP] aside."""

    name = "sentences"
    summary = "attention of a pair's tokens to their own and to the other text"
    paper = "Kovaleva 2019, the block pattern"
    schemas: ClassVar[Schemas] = {
        "own": share_of_attention("the own text of the pair", "high: stays in its text", most=""),
        "across": share_of_attention(
            "the other text of the pair",
            "high: ties the two together",
            most="looks most at the other text",
            role="other text",
            baseline="across_chance",
            rank=14,
        ),
        "across_chance": chance_of("the other text of the pair"),
    }

    def lacking(self, setting: Setting) -> str | None:
        return None if setting.pairs else "the texts are no pairs"

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"own": (), "across": (), "across_chance": ()}

    def see(self, seen: Seen) -> Values:
        queries = seen.queries.real * (1 - seen.queries.classes["special"])
        first = (seen.queries.segment == 0)[:, None]
        own = torch.where(first, seen.mass("text 1"), seen.mass("text 2"))
        across = torch.where(first, seen.mass("text 2"), seen.mass("text 1"))
        chance = torch.where(first, seen.chance("text 2"), seen.chance("text 1"))
        return {
            "own": seen.mean(own, queries),
            "across": seen.mean(across, queries),
            "across_chance": seen.mean_chance(chance, queries),
        }
