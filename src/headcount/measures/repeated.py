"""Do heads tie together the words that stand in both texts of a pair?"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from headcount.core.schema import Schema
from headcount.measures.contract import SHARE, Question, Schemas, Seen, Setting, Values, share_of_attention


class Repeated(Question):
    """Attention from a word to the same word in the other text of a pair, mean over the words that have one there.

    `control`: what as many other words of the other text get from it, token by token, full stops and commas left out.
    `gain`: the difference.
    """

    name = "repeated"
    summary = "attention between words that stand in both texts of a pair, beside other words there"
    paper = "Kovaleva 2019, discussion (checked by hand there)"
    schemas: ClassVar[Schemas] = {
        "attention": share_of_attention("the same word in the other text", "high: ties them", most=""),
        "control": Schema("Other words of the other text", SHARE, "what the same words are held against", (0, 1)),
        "gain": Schema(
            "Attention to the same word in the other text, beyond other words",
            SHARE,
            "above 0: more than other words get",
            (-1, 1),
            signed=True,
            most="links repeated words most (over others)",
            role="same word in the other text",
            does="Attends to the same word in the other text",
            baseline=0.0,
            role_from=0.15,
            rank=11,
            main=True,
        ),
    }

    def lacking(self, setting: Setting) -> str | None:
        return None if setting.pairs else "the texts are no pairs"

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"attention": (), "control": (), "gain": ()}

    def see(self, seen: Seen) -> Values:
        segment = seen.queries.segment
        queries, keys, count = seen.queries.across
        matched = seen.view.mass_on_equal(queries, keys, anywhere=True)
        words = seen.queries.once("words of texts", lambda: _words(seen))
        on_words = [seen.view.mass_on(one) for one in words]
        across = torch.where((segment == 0)[:, None], on_words[1], on_words[0])
        sizes = [one.sum(-1) for one in words]
        there = torch.where(segment == 0, sizes[1], sizes[0])
        other = (there - count).clamp(min=0)[:, None]
        control = (across - matched) / other * count[:, None]
        chosen = ((count > 0) & (other[:, 0] > 0)).to(matched.dtype)
        attention, control = seen.mean(matched, chosen), seen.mean(control, chosen)
        return {"attention": attention, "control": control, "gain": attention - control}


def _words(seen: Seen) -> list[Tensor]:
    """Bool [B, 1, token]: the words of each text."""
    return [((seen.queries.segment == text) & (seen.queries.form >= 0))[:, None] for text in (0, 1)]
