"""Do heads tie together the words that stand in both texts of a pair?"""

from __future__ import annotations

from typing import ClassVar

import torch

from headcount.core.schema import Schema
from headcount.data.occurrences import earlier_occurrences
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
        form, segment = seen.queries.form, seen.queries.segment
        example, later, earlier = earlier_occurrences(form)
        other_text = segment[example, later] != segment[example, earlier]
        example, later, earlier = example[other_text], later[other_text], earlier[other_text]
        example, query, key = torch.cat((example, example)), torch.cat((later, earlier)), torch.cat((earlier, later))
        batch, heads, width = seen.view.total.shape
        matched = torch.zeros(batch, width, heads, device=form.device)
        matched.index_put_((example, query), seen.view.entries(example, query, key).to(matched.dtype), accumulate=True)
        matched = matched.transpose(1, 2)
        words = [(segment == text) & (form >= 0) for text in (0, 1)]
        on_words = [seen.view.mass_on(one[:, None]) for one in words]
        across = torch.where((segment == 0)[:, None], on_words[1], on_words[0])
        sizes = [one.sum(-1, keepdim=True) for one in words]
        there = torch.where(segment == 0, sizes[1], sizes[0])
        count = torch.zeros_like(form).index_put_((example, query), torch.ones_like(query), accumulate=True)
        other = (there - count).clamp(min=0)[:, None]
        control = (across - matched) / other * count[:, None]
        chosen = ((count > 0) & (other[:, 0] > 0)).to(matched.dtype)
        attention, control = seen.mean(matched, chosen), seen.mean(control, chosen)
        return {"attention": attention, "control": control, "gain": attention - control}
