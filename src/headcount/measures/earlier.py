"""Attention to the place where a token stood before, or to a place at a fixed distance from it, beside other tokens."""

from __future__ import annotations

from typing import ClassVar

import torch

from headcount.measures.contract import Question, Seen, Setting, Values


class EarlierToken(Question):
    """Base of the questions about tokens that stand in the text for the second time.

    Asked of the tokens that have an earlier occurrence; where there are several, attention to them is summed. `control`
    is what as many other tokens before the query get on average. Special tokens and the first token, where heads park
    their attention, are on neither side. A text without such a token has no value (NaN), and neither has cross
    attention, whose keys are of another text.
    """

    distance: ClassVar[int]
    """From the earlier occurrence to the token that is looked for."""

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"attention": (), "control": (), "gain": ()}

    def lacking(self, setting: Setting) -> str | None:
        return None if set(setting.layers) - {"cross"} else "cross attention reads another text"

    def see(self, seen: Seen) -> Values:
        nothing = torch.full_like(seen.view.total[..., 0], float("nan"))
        if seen.stack == "cross":
            return {"attention": nothing, "control": nothing, "gain": nothing}
        readable = seen.keys.readable
        queries, keys, matches = seen.queries.earlier(self.distance)
        others = readable.cumsum(-1) - readable.long() - matches
        asked = (matches > 0) & (others > 0)
        count = asked.sum(-1, keepdim=True)
        share = asked / count.clamp(min=1)  # of each query in the mean of its text
        odds = torch.where(asked, matches / others, 0) * share
        found = seen.view.mass_on_equal(queries, keys)
        attention = (found * share[:, None]).sum(-1)
        control = torch.where(asked[:, None], (seen.before - found) * odds[:, None], 0).sum(-1)
        values = {"attention": attention, "control": control, "gain": attention - control}
        return {name: torch.where(count > 0, value, nothing) for name, value in values.items()}
