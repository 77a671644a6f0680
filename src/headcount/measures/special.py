"""How much of a head's attention goes to special tokens, to punctuation, to the first token, to everything else?"""

from __future__ import annotations

from typing import ClassVar

import torch

from headcount.measures.contract import CHANCE, Question, Schemas, Seen, Setting, Values, chance_of, share_of_attention


class Special(Question):
    """Mean attention to [CLS], [SEP], full stop and comma, all others, and the first token (the sink of decoders).

    `sep_from_sep` is attention from [SEP] to [SEP], `sep_from_other` from all other tokens, as in Clark's figure. A
    model without these tokens has `first`, `punctuation` and `other` alone.
    """

    name = "special"
    summary = "attention to [CLS], [SEP], full stop and comma, the first token, all others"
    paper = "Clark 2019, Fig 2; Kovaleva 2019, Fig 6"
    schemas: ClassVar[Schemas] = {
        "first": share_of_attention(
            "the first token", role="first token (attention sink)", baseline="first_chance", rank=10
        ),
        "punctuation": share_of_attention(
            "full stops and commas", role="punctuation", baseline="punctuation_chance", rank=6
        ),
        "other": share_of_attention("words", "all but special tokens, full stops and commas", most=""),
        "cls": share_of_attention("[CLS]", role="[CLS]", baseline="cls_chance", rank=5),
        "sep": share_of_attention("[SEP]", role="[SEP]", baseline="sep_chance", rank=4),
        "first_chance": chance_of("the first token"),
        "punctuation_chance": chance_of("full stops and commas"),
        "cls_chance": chance_of("[CLS]"),
        "sep_chance": chance_of("[SEP]"),
        "sep_from_sep": share_of_attention("[SEP]", title="Attention from [SEP] to [SEP]", most=""),
        "sep_from_other": share_of_attention("[SEP]", title="Attention from words to [SEP]", most=""),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        names = ["first", "punctuation", "other", "first_chance", "punctuation_chance"]
        if setting.special:
            names += ["cls", "sep", "cls_chance", "sep_chance", "sep_from_sep", "sep_from_other"]
        return dict.fromkeys(names, ())

    def see(self, seen: Seen) -> Values:
        values = {name: seen.mean(seen.mass(name)) for name in ("first", "punctuation", "other")}
        asked: tuple[str, ...] = ("first", "punctuation")
        if "cls" in seen.classes and "sep" in seen.classes:
            mass = seen.mass("sep")
            separators = seen.queries.classes.get("sep", torch.zeros_like(seen.queries.real))
            values["cls"] = seen.mean(seen.mass("cls"))
            values["sep"] = seen.mean(mass)
            values["sep_from_sep"] = seen.mean(mass, separators)
            asked = (*asked, "cls", "sep")
            values["sep_from_other"] = seen.mean(mass, seen.queries.real - separators)
        return values | {f"{name}{CHANCE}": seen.mean_chance(seen.chance(name)) for name in asked}
