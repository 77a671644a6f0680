"""Do heads look for the rarest word of a text?"""

from __future__ import annotations

from typing import ClassVar

import torch

from headcount.core.schema import Schema
from headcount.data.rarity import RAREST
from headcount.measures.contract import SHARE, Question, Schemas, Seen, Setting, Values, share_of_attention


class Rare(Question):
    """Attention to the rarest token of a text, by how often the measured texts have it.

    `control`: what any other word piece of the text gets on average. `gain`: the difference. `largest`: the share of
    tokens that look at the rarest one most. The rarest token itself is no query: many heads look at their own place.
    """

    name = "rare"
    summary = "attention to the rarest token of a text, beside its other words"
    paper = "Voita 2019, the rare-words head"
    schemas: ClassVar[Schemas] = {
        "attention": share_of_attention("the rarest word", "high: looks for rare words", most=""),
        "control": Schema("Words but the rarest", SHARE, "what the rarest word is held against", (0, 1)),
        "gain": Schema(
            "The rarest word, over other words",
            SHARE,
            "above 0: more than other words get",
            (-1, 1),
            signed=True,
            most="favours the rarest word (over others)",
            role="rarest word",
            does="Attends to the rarest word",
            baseline=0.0,
            role_from=0.15,
            rank=12,
        ),
        "largest": Schema("Tokens that look at the rarest word most", "share of tokens", "high: rare words", (0, 1)),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"attention": (), "control": (), "gain": (), "largest": ()}

    def see(self, seen: Seen) -> Values:
        chosen = seen.keys.classes[RAREST]
        others = (seen.keys.classes["other"].sum(-1) - 1)[:, None, None]
        asked = seen.queries.real
        if seen.stack != "cross":
            asked = asked * (1 - seen.queries.classes[RAREST])
        known = (chosen.sum(-1) > 0)[:, None]
        attention = seen.mass(RAREST)
        control = (seen.mass("other") - attention) / others
        index = seen.view.column_of_largest
        hit = chosen[:, None].expand(-1, index.shape[1], -1).gather(2, index)
        nothing = torch.full_like(attention[..., 0], float("nan"))
        values = {
            "attention": seen.mean(attention, asked),
            "control": torch.where(others[..., 0] > 0, seen.mean(control, asked), nothing),
            "largest": seen.mean(hit, asked),
        }
        values = {name: torch.where(known, value, nothing) for name, value in values.items()}
        return {**values, "gain": values["attention"] - values["control"]}
