"""What do a head's maps look like: columns, a diagonal, both, blocks, or none of these?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch

from headcount.core.schema import Schema
from headcount.core.statistics import mean_interval
from headcount.measures.contract import Question, Schemas, Seen, Setting, Values
from headcount.patterns.naming import PATTERNS, pattern_chances, read_rule
from headcount.patterns.shapes import SHAPES, picture_parts, see_pictures, shape_numbers

SHORTEST = 8
"""Tokens of a text whose maps have a pattern: with fewer, a diagonal and a block are the same."""


class Patterns(Question):
    """`share`: the share of texts in which the head's map has the pattern. `sure`: the chance that its name is right.

    `shapes`: what the name rests on (`headcount.patterns.shapes`). `mostly`: the number of the pattern that most
    texts have. `whole_share`: the share of all maps of a stack; its interval includes the mistakes of the rule, as
    they were on families of models that it had not seen, `whole_share_texts_low` and `..._high` do not. Intervals of
    a head's `share` know the texts alone: for the mistakes see `confusion`, `f1`, `reliability` and `rule` among the
    attributes. Cross attention has no diagonal, and so no pattern: NaN, as for texts of fewer than 8 tokens.
    """

    name = "patterns"
    summary = "the pattern of its maps: vertical, diagonal, both, block or heterogeneous; share of texts"
    paper = "Kovaleva 2019, Fig 1 and 2"
    category = "What its maps look like"
    schemas: ClassVar[Schemas] = {
        "share": Schema(
            "maps with this pattern",
            "share of texts",
            "1: in every text",
            (0, 1),
            most="is most often {} (share of maps)",
            most_of=("vertical", "diagonal", "block"),
        ),
        "sure": Schema("How sure the rule is of the pattern", "probability", "low: the maps could be either", (0, 1)),
        "shapes": Schema("shape of its maps", "light", "what the name of the pattern rests on"),
        "mostly": Schema(
            "The pattern of its maps", "", "what its maps look like in most texts", names=PATTERNS, shown=False
        ),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"share": ("pattern",), "sure": (), "shapes": ("shape",)}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {"pattern": list(PATTERNS), "shape": list(SHAPES)}

    def notes(self) -> dict[str, Any]:
        rule = read_rule()
        return {
            "confusion": rule.confusion.astype(int).tolist(),
            "f1": rule.f1,
            "reliability": rule.reliability,
            "rule": rule.said,
        }

    def see(self, seen: Seen) -> Values:
        real = seen.queries.real
        long = (real.sum(-1) >= SHORTEST)[:, None, None]
        any_long = seen.queries.once("long enough for a pattern", lambda: bool(long.any()))
        if seen.stack == "cross" or not any_long:
            shapes = seen.view.total.new_full((*seen.view.total.shape[:2], len(SHAPES)), float("nan"))
        else:
            parts = seen.once("stretches", lambda: picture_parts(seen.view, real))
            pictures = see_pictures(seen.view, real, parts)
            if seen.view.is_asking:  # the numbers are many small operations, and nobody reads those of zeros
                return {}
            shapes = torch.where(long, shape_numbers(*pictures), float("nan"))
        chances = pattern_chances(shapes)
        sure, which = chances.max(-1)
        # Not one_hot, which waits for the GPU to check its range.
        named = (which[..., None] == torch.arange(len(PATTERNS), device=which.device)).to(chances.dtype)
        return {"share": torch.where(chances.isnan(), chances, named), "sure": sure, "shapes": shapes}

    def finish(self, means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        share = means["share"]
        return {"mostly": np.where(np.isnan(share[..., 0]), np.nan, np.nan_to_num(share, nan=-1.0).argmax(-1))}

    def whole(self, values: dict[str, np.ndarray], seed: int) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        with np.errstate(invalid="ignore"):
            known = np.isfinite(values["share"])
            by_text = np.where(known, values["share"], 0).sum((2, 3)) / known.sum((2, 3))
        share, low, high = mean_interval(by_text, seed=seed)
        margin = read_rule().share_margin(share)
        arrays = {
            "whole_share": share,
            "whole_share_low": np.maximum(share - np.hypot(share - low, margin), 0),
            "whole_share_high": np.minimum(share + np.hypot(high - share, margin), 1),
            "whole_share_texts_low": low,
            "whole_share_texts_high": high,
        }
        return {name: (("stack", "pattern"), array) for name, array in arrays.items()}
