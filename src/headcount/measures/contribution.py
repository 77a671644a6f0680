"""How much does a head write into the residual stream, and does it look where there is nothing to read?"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from headcount.core.schema import Schema
from headcount.measures.contract import SHARE, Question, Schemas, Seen, Setting, Values

NEAR_ZERO = 0.25
"""Of the median length of a head's value vectors in the text."""
TOKENS = 4096
"""At a time: their outputs are widened."""


class Contribution(Question):
    """Lengths of what a head gives, mean over tokens, and the share of its attention on near-zero values.

    `output_norm`: of the head's output. `written`: of that output through the output projection, which is what enters
    the residual stream. `share`: the head's part of what the layer's attention writes, in its direction (all heads of a
    layer sum to 1; a head that works against the others is negative). `near_zero`: attention on tokens whose value
    vector is shorter than a quarter of the head's median there: high where attention is a way to do nothing.
    `sep_value`: the length of [SEP]'s value vectors relative to the mean one.
    """

    name = "contribution"
    summary = "length of head outputs and of what they write, attention on near-zero values"
    paper = "Clark 2019, the no-op hypothesis; Kobayashi 2020, norms"
    schemas: ClassVar[Schemas] = {
        "output_norm": Schema("Length of its output", "length", "before the output projection", (0, None)),
        "written": Schema("Length of what it writes", "length", "high: changes the stream much", (0, None)),
        "share": Schema(
            "How much it writes (share of its layer)",
            "share",
            "high: writes most of its layer's sum",
            main=True,
            most="writes most (share of its layer)",
        ),
        "near_zero": Schema(
            "Attention on near-zero values",
            SHARE,
            "high: looks at nothing",
            (0, 1),
            most="looks most at near-zero values",
        ),
        "sep_value": Schema("Length of [SEP]'s value", "1: the mean", "low: looking there does nothing", (0, None)),
    }

    def lacking(self, setting: Setting) -> str | None:
        return setting.no_writing

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        names = ["output_norm", "written", "share", "near_zero"] + (["sep_value"] if setting.special else [])
        return dict.fromkeys(names, ())

    def see(self, seen: Seen) -> Values:
        values, lengths = seen.once("contribution", lambda: (_lengths_of_outputs(seen), _lengths_of_values(seen)))
        values = dict(values)
        real = seen.keys.real[:, None]
        values["near_zero"] = seen.mean(seen.view.mass_on(seen.once("near zero", lambda: _near_zero(lengths, real))))
        if "cls" in seen.classes and "sep" in seen.classes:
            separators = seen.keys.classes["sep"][:, None]
            mean = (lengths * real).sum(-1) / real.sum(-1)
            values["sep_value"] = (lengths * separators).sum(-1) / separators.sum(-1) / mean
        return values


def _lengths_of_outputs(seen: Seen) -> Values:
    """What does not depend on the map: lengths [B, H], mean over tokens."""
    outputs = seen.view.outputs
    assert outputs is not None
    heads, size = outputs.shape[2:]
    # Columns times each other: lengths after the projection are then known before it.
    matrix = seen.view.block.output_matrix.to(outputs.device).float()
    gram = matrix @ matrix.T
    own = torch.stack([gram[n * size : (n + 1) * size, n * size : (n + 1) * size] for n in range(heads)])
    by_query: dict[str, list[Tensor]] = {"output_norm": [], "written": [], "share": []}
    for part in outputs.split(max(1, TOKENS // len(outputs)), 1):
        part = part.float()
        written = torch.einsum("bqhd,hde,bqhe->bhq", part, own, part).clamp(min=0).sqrt()
        parts = (part * (part.flatten(2) @ gram).unflatten(-1, (heads, size))).sum(-1).transpose(1, 2)
        by_query["output_norm"].append(part.norm(dim=-1).transpose(1, 2))
        by_query["written"].append(written)
        by_query["share"].append(parts / parts.sum(1, keepdim=True))
    return {name: seen.mean(torch.cat(parts, -1))[:, seen.view.chosen] for name, parts in by_query.items()}


def _near_zero(lengths: Tensor, real: Tensor) -> Tensor:
    """Bool [B, H, K]: the values that are much shorter than their head's median."""
    # Not nanmedian, which gives the lower one of two in the middle.
    median = torch.where(real > 0, lengths, float("nan")).nanquantile(0.5, dim=-1, keepdim=True)
    return lengths < NEAR_ZERO * median


def _lengths_of_values(seen: Seen) -> Tensor:
    """The lengths [B, H, K] of the values that each head reads."""
    call = seen.view.call
    return torch.stack([value.float().norm(dim=-1) for value in call.value.unbind(1)], 1)[:, call.reads]
