"""From the shape of a map to the name of its pattern, by a rule that was fitted to maps with labels.

The rule is a softmax over sums of the shape numbers: its weights stand in `naming.json`, beside how good its names are
on families of models that it was not fitted to. `recipes/patterns` says who labelled the maps, and makes the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import torch
from torch import Tensor

from headcount.patterns.shapes import SHAPES

PATTERNS = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
"""Kovaleva's five classes."""
FARTHEST = 4.0
"""Deviations from the centre at which a shape number is cut off: no number of a strange map outweighs all others."""


@dataclass(frozen=True)
class Rule:
    """Logits are `bias + weights @ clip((shape - centre) / scale)`; they are calibrated."""

    centre: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    confusion: np.ndarray
    """[label, name]: maps with this label that got this name from rules that were fitted to other families."""
    f1: dict[str, float]
    """F1 of each pattern there."""
    reliability: list[dict[str, float]]
    """For ranges of `sure`: how many maps there, the mean of `sure`, how often the name is right."""
    said: dict[str, float]
    """How many maps, how well labellers agree, how good the names are."""

    def share_margin(self, share: np.ndarray) -> np.ndarray:
        """Half the width of the 95 % interval that the rule's mistakes give a share of maps of one model."""
        spread = np.sqrt(share * (1 - share) + self.said["share_floor"])
        margin: np.ndarray = self.said["share_width"] * spread
        return margin


@cache
def read_rule() -> Rule:
    """The rule that comes with the package."""
    told = json.loads((files("headcount.patterns") / "naming.json").read_text(encoding="utf-8"))
    if told["shapes"] != list(SHAPES) or told["patterns"] != list(PATTERNS):
        raise ValueError("naming.json is of other shapes or patterns; run recipes.patterns.fit again")
    arrays = {
        name: np.array(told[name], dtype=np.float64) for name in ("centre", "scale", "weights", "bias", "confusion")
    }
    return Rule(**arrays, f1=told["f1"], reliability=told["reliability"], said=told["said"])


def pattern_chances(shapes: Tensor) -> Tensor:
    """How likely each pattern is [..., pattern], for shape numbers [..., shape]."""
    rule = read_rule()
    centre, scale, weights, bias = (
        torch.as_tensor(array, dtype=torch.float32, device=shapes.device)
        for array in (rule.centre, rule.scale, rule.weights, rule.bias)
    )
    logits: Tensor = ((shapes.float() - centre) / scale).clamp(-FARTHEST, FARTHEST) @ weights.T + bias
    return logits.softmax(-1)
