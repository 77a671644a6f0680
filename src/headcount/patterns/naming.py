"""From the shape of a map to the name of its pattern, by a classifier fitted to labelled maps.

It is a multinomial logistic regression on the shape numbers: `naming.json` holds its weights and its accuracy on model
families that it was not fitted to. `recipes/patterns` documents who labelled the maps, and writes the file.
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
"""The five classes of Kovaleva et al. (2019)."""
FARTHEST = 4.0
"""Standardised shape numbers are clipped here, so that no single number of an unusual map outweighs all others."""


@dataclass(frozen=True)
class Rule:
    """Logits are `bias + weights @ clip((shape - centre) / scale)`; they are calibrated."""

    centre: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    confusion: np.ndarray
    """[label, name]: how many maps with this label got this name from rules fitted to other families."""
    f1: dict[str, float]
    """F1 of each pattern in `confusion`."""
    reliability: list[dict[str, float]]
    """For ranges of `sure`: the number of maps, the mean of `sure`, how often the name is right."""
    said: dict[str, float]
    """The number of maps, the agreement of the labellers, the accuracy of the names."""

    def share_margin(self, share: np.ndarray) -> np.ndarray:
        """Half the width of the 95 % interval of a model's share of maps, due to the rule's mistakes."""
        spread = np.sqrt(share * (1 - share) + self.said["share_floor"])
        margin: np.ndarray = self.said["share_width"] * spread
        return margin


@cache
def read_rule() -> Rule:
    """The rule that comes with the package."""
    stored = json.loads((files("headcount.patterns") / "naming.json").read_text(encoding="utf-8"))
    if stored["shapes"] != list(SHAPES) or stored["patterns"] != list(PATTERNS):
        raise ValueError("naming.json is of other shapes or patterns; run recipes.patterns.fit again")
    arrays = {
        name: np.array(stored[name], dtype=np.float64) for name in ("centre", "scale", "weights", "bias", "confusion")
    }
    return Rule(**arrays, f1=stored["f1"], reliability=stored["reliability"], said=stored["said"])


def pattern_chances(shapes: Tensor) -> Tensor:
    """The probability of each pattern [..., pattern], for shape numbers [..., shape]."""
    rule = read_rule()
    centre, scale, weights, bias = (
        torch.as_tensor(array, dtype=torch.float32, device=shapes.device)
        for array in (rule.centre, rule.scale, rule.weights, rule.bias)
    )
    logits: Tensor = ((shapes.float() - centre) / scale).clamp(-FARTHEST, FARTHEST) @ weights.T + bias
    return logits.softmax(-1)
