"""Does a head look up the answer: is what it attends to most the token that is due, inside the needle?"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from headcount.core.schema import Schema
from headcount.data.spans import COMPLETION, NEEDLE
from headcount.measures.contract import SHARE, Question, Schemas, Seen, Setting, Values


class Retrieval(Question):
    """How often the most attended token is the token that is due next, inside the needle.

    Asked where the model predicts the tokens of the completion, each after the right tokens before it (the paper lets
    the model generate and counts its own tokens if the answer is right). `attention`: the share of attention on such
    tokens. `chance`: how often a token drawn from all that the query may attend to is one of them.
    """

    name = "retrieval"
    summary = "how often the most attended token is the answer's next token, inside the needle; retrieval heads"
    paper = "Wu 2024, retrieval score"
    schemas: ClassVar[Schemas] = {
        "score": Schema(
            "Retrieval score",
            "share of answer tokens",
            "0.1 or more: a retrieval head; 1: every answer token is looked up",
            (0, 1),
            most="is the strongest retrieval head",
            role="retrieval",
            does="Looks up the answer in the text",
            baseline="chance",
            role_from=0.1,
            rank=7,
        ),
        "attention": Schema("Attention to the due token in the needle", SHARE, "high: reads the answer", (0, 1)),
        "chance": Schema("Retrieval score by chance", "share of answer tokens", "any token that may be read", (0, 1)),
    }

    def lacking(self, setting: Setting) -> str | None:
        if "decoder" not in setting.layers or "encoder" in setting.layers:
            return "only decoders predict a completion token by token"
        if not {NEEDLE, COMPLETION} <= set(setting.classes):
            return "the texts mark no needle and completion (columns needle_start, needle_end and completion)"
        return None

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"score": (), "attention": (), "chance": ()}

    def see(self, seen: Seen) -> Values:
        example, query, right, entries, pair, count = seen.queries.once("due tokens", lambda: _due(seen))
        batch, heads = seen.view.total.shape[:2]
        column = seen.view.column_of_largest[example, :, query]  # [due, H]
        attention = torch.zeros(len(example), heads, dtype=seen.view.total.dtype, device=right.device)
        attention.index_add_(0, pair, seen.view.entries(*entries))
        chance = right.sum(-1) / (query + 1)
        values = {
            "score": right.gather(1, column),
            "attention": attention,
            "chance": chance[:, None].expand(-1, heads),
        }
        sums = {name: torch.zeros(batch, heads, dtype=attention.dtype, device=right.device) for name in values}
        return {
            name: sums[name].index_add_(0, example, value.to(attention.dtype)) / count for name, value in values.items()
        }


def _due(seen: Seen) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor, Tensor], Tensor, Tensor]:
    """The examples and queries of the tokens that are due next; which keys are right for each [due, K]; these as
    entries of the map, with the number of their due token; and how many are due in each text [B, 1].
    """
    tokens, needle = seen.queries.token, seen.keys.classes[NEEDLE] > 0
    due = (seen.queries.classes[COMPLETION][:, 1:] > 0) & (tokens[:, 1:] >= 0)
    due &= needle.any(-1, keepdim=True)  # a needle that was cut off can be found by nobody
    example, query = due.nonzero(as_tuple=True)
    right = needle[example] & (tokens[example] == tokens[example, query + 1][:, None])
    right &= torch.arange(right.shape[1], device=right.device) <= query[:, None]
    pair, key = right.nonzero(as_tuple=True)
    return example, query, right, (example[pair], query[pair], key), pair, due.sum(-1)[:, None]
