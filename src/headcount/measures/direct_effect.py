"""Does what a head writes raise the logit of the token that comes next?"""

from __future__ import annotations

from typing import ClassVar

import torch

from headcount.core.schema import Schema
from headcount.data.spans import COMPLETION
from headcount.measures.contract import Question, Schemas, Seen, Setting, Values
from headcount.measures.logit_directions import (
    TOKENS,
    before_projection,
    mean_of_text,
    of_others,
    same_in_text,
    token_directions,
)
from headcount.trace.precision import widened


class DirectEffect(Question):
    """What a head adds to the logit of the right next token, above the mean of the vocabulary (logit attribution).

    The head's output, through the output projection and the final norm at the scale that it has in the pass, times the
    output embedding of the token. The effects of all heads, feed-forward layers and the embedding sum to the logit
    above the mean. Effects through later layers are not included. Mean over the tokens that are followed by one that
    is not special; in texts with a completion, over those that are followed by a token of it. `control`: the same for
    the other tokens of the text. `gain`: the difference.
    """

    name = "direct_effect"
    summary = "what a head adds to the logit of the right next token, beside other tokens of the text"
    paper = "Wang 2022, direct logit attribution; Elhage 2021"
    category = "What it does to the logits"
    needs_map = False
    needs_logits = True
    in_logits = ("effect", "control", "gain")
    schemas: ClassVar[Schemas] = {
        "effect": Schema(
            "Direct effect on the right token",
            "logits",
            "above 0: makes the right token more likely",
            signed=True,
            most="raises the right token most (logits)",
        ),
        "control": Schema(
            "Direct effect on other tokens of the text", "logits", "what the right token is compared with", signed=True
        ),
        "gain": Schema(
            "Direct effect on the right token, over other tokens",
            "logits",
            "above 0: raises the right token more than others",
            signed=True,
        ),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"effect": (), "control": (), "gain": ()}

    def see(self, seen: Seen) -> Values:
        assert seen.unembedding is not None
        assert seen.view.outputs is not None
        tokens, outputs = seen.queries.token, seen.view.outputs[:, :, seen.view.chosen]
        following = tokens[:, 1:]
        asked = following >= 0
        completion = seen.queries.classes.get(COMPLETION)
        if completion is not None:
            # Texts without a completion, among others that have one, are asked about as a whole.
            asked &= (completion[:, 1:] > 0) | (completion.sum(-1, keepdim=True) == 0)
        count, same = (tokens >= 0).sum(-1), same_in_text(seen)
        on_text = before_projection(seen, mean_of_text(seen))
        effect = torch.zeros(len(tokens), outputs.shape[2], tokens.shape[1], dtype=on_text.dtype, device=on_text.device)
        control = torch.zeros_like(effect)
        directions, place = token_directions(seen)
        size = max(1, TOKENS // len(tokens))
        for start in range(0, following.shape[1], size):
            part = slice(start, min(start + size, following.shape[1]))
            after, wanted = slice(part.start + 1, part.stop + 1), asked[:, None, part]
            output = widened(outputs[:, part])
            right = (output * directions[place[:, after]]).sum(-1).transpose(1, 2)
            text = torch.einsum("bqhd,bhd->bhq", output, on_text)
            other = of_others(text, right, count[:, None, None], same[:, None, after])
            effect[..., part], control[..., part] = torch.where(wanted, right, 0), torch.where(wanted, other, 0)
        effect, control = (one / asked.sum(-1)[:, None, None] for one in (effect, control))
        return {"effect": effect, "control": control, "gain": effect - control}
