"""Does a head make what it attends to more likely: does it copy?"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from headcount.core.schema import Schema
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

COMPARED = 32
"""Tokens of a text that `rank` compares with."""


class Copying(Question):
    """What a head adds to the logits of the tokens that it attends to, above the mean of the vocabulary.

    For each earlier token, the value that the head reads there goes through the output projection and the final norm
    (at the scale of the query's state) to the logit of that token, and is weighted with the attention; mean over the
    queries. `control`: the same for the other tokens of the text. `gain`: the difference. `rank`: of up to 32 other
    tokens of the text, the share that the value raises less than its own token, weighted with the attention; 0.5 is
    chance. Special tokens, the first token and the query itself do not count as attended.
    """

    name = "copying"
    summary = "what a head adds to the logits of the tokens that it attends to, beside other tokens; copying heads"
    paper = "Olsson 2022, copying; Elhage 2021, OV circuits"
    category = "What it does to the logits"
    needs_logits = True
    in_logits = ("rise", "control", "gain")
    schemas: ClassVar[Schemas] = {
        "rise": Schema(
            "Direct effect on attended tokens", "logits", "above 0: makes what it attends to more likely", signed=True
        ),
        "control": Schema(
            "Effect on tokens not attended to", "logits", "what attended tokens are compared with", signed=True
        ),
        "gain": Schema(
            "Copying: effect on attended tokens, over others",
            "logits",
            "above 0: raises what it attends to more than other tokens",
            signed=True,
            most="copies most (logits, over other tokens)",
        ),
        "rank": Schema(
            "Copying: tokens raised less than the attended one",
            "share of tokens",
            "0.5: chance; 1: the attended token is raised most",
            (0, 1),
            role="copying",
            does="Copies what it attends to",
            baseline=0.5,
            role_from=0.9,
            rank=15,
        ),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"rise": (), "control": (), "gain": (), "rank": ()}

    def see(self, seen: Seen) -> Values:
        readable = seen.keys.readable
        own, others, known, ranks = seen.once("copying", lambda: _at_keys(seen))
        asked = (readable.cumsum(-1) - readable.long() > 0) & (seen.queries.real > 0)
        queries = asked.sum(-1)[:, None, None]
        rise, control, weight, rank = (_attended(seen, asked, part) for part in (own, others, known, ranks))
        rise, control, rank = rise / queries, control / queries, rank.sum(-1) / weight.sum(-1)
        return {"rise": rise, "control": control, "gain": rise - control, "rank": rank}


def _at_keys(seen: Seen) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the value at each key adds to the logits of its own token and of others [B, H, K], its ranks, and where
    these are known [B, 1, K]; 0 at keys that are not readable.
    """
    tokens = seen.keys.token
    own, direction = _by_key(seen, tokens), before_projection(seen, mean_of_text(seen))
    parts = seen.view.values.split(max(1, TOKENS // len(tokens)), 2)
    text = torch.cat([torch.einsum("bhkd,bhd->bhk", widened(part), direction) for part in parts], -1)
    count, same = (tokens >= 0).sum(-1)[:, None, None], same_in_text(seen)[:, None]
    found = (own, of_others(text, own, count, same), *_ranks(seen, own))
    first, second, ranks, known = (torch.where(seen.keys.readable[:, None], one.to(own.dtype), 0) for one in found)
    return first, second, known, ranks


def _attended(seen: Seen, asked: Tensor, by_key: Tensor) -> Tensor:
    """What each query finds at the tokens before it [B, H, Q]: `by_key` [B, H, K], weighted with its attention."""
    found = seen.view.mass_on(by_key) - seen.view.diagonal(0) * by_key
    return torch.where(asked[:, None], found, 0)


def _by_key(seen: Seen, tokens: Tensor) -> Tensor:
    """What the value at each key adds to the logit of its own token [B, H, K], before the scale; 0 at special ones."""
    values, (directions, place) = seen.view.values, token_directions(seen)
    size = max(1, TOKENS // len(tokens))
    found = [
        (widened(part) * directions[at].transpose(1, 2)).sum(-1)
        for part, at in zip(values.split(size, 2), place.split(size, 1), strict=True)
    ]
    return torch.where((tokens >= 0)[:, None], torch.cat(found, -1), 0).to(seen.view.total.dtype)


def _spread(text: Tensor) -> Tensor:
    """Some of the different tokens [T] of a text, evenly by their ids."""
    distinct = text[text >= 0].unique()
    count = min(COMPARED, len(distinct))
    chosen: Tensor = distinct[torch.linspace(0, max(0, len(distinct) - 1), count, device=text.device).round().long()]
    return chosen


def _ranks(seen: Seen, own: Tensor) -> tuple[Tensor, Tensor]:
    """For each key, the share of compared tokens that its value raises less than its own token [B, H, K].

    And whether there is a token to compare with [B, 1, K]. Equal rises count half.
    """
    assert seen.unembedding is not None
    tokens = seen.keys.token
    ranks, known = torch.zeros_like(own), torch.zeros_like(own[:, :1], dtype=torch.bool)
    for example, text in enumerate(tokens):
        compared: Tensor = seen.keys.once(f"compared tokens {example}", lambda text=text: _spread(text))  # type: ignore[misc]
        if len(compared) < 2:
            continue
        directions = before_projection(seen, seen.unembedding.directions(compared))
        for start in range(0, len(text), TOKENS):
            part = slice(start, start + TOKENS)
            raised = torch.einsum("hkd,thd->hkt", widened(seen.view.values[example, :, part]), directions)
            mine = own[example, :, part, None]
            less = (raised < mine).to(own.dtype) + (raised == mine) / 2
            differs = (compared != text[part, None]).to(own.dtype)
            ranks[example, :, part] = (less * differs).sum(-1) / differs.sum(-1).clamp(min=1)
            known[example, :, part] = differs.sum(-1) > 0
    return ranks, known
