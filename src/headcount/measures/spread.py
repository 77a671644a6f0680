"""How sure is a head of where it looks, and how far away is that?"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch

from headcount.core.schema import Schema
from headcount.measures.contract import Question, Schemas, Seen, Setting, Values

FOCUSED = 0.5


class Spread(Question):
    """`confidence`: the mean of each token's largest weight. `distance`: the mean number of tokens attention spans.

    Voita leaves the end-of-sentence token out of the confidence; here every token counts. A distance in cross attention
    means nothing: NaN.
    """

    name = "spread"
    summary = "mean largest weight (confidence) and mean distance in tokens; focused heads"
    paper = "Voita 2019, confidence; Michel 2019, head statistics"
    schemas: ClassVar[Schemas] = {
        "confidence": Schema(
            "Confidence",
            "mean largest weight",
            "1: always looks at one token",
            (0, 1),
            most="is surest (mean largest weight)",
        ),
        "distance": Schema("How far it looks", "tokens", "high: far away", (0, None), most="looks farthest (tokens)"),
        "focused": Schema("Focused head", "", "sure of one token most of the time", names=("no", "yes")),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"confidence": (), "distance": ()}

    def see(self, seen: Seen) -> Values:
        view = seen.view
        confidence = seen.mean(view.largest)
        if seen.stack == "cross":
            return {"confidence": confidence, "distance": torch.full_like(confidence, float("nan"))}
        return {"confidence": confidence, "distance": seen.mean(view.distance())}

    def finish(self, means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        confidence = means["confidence"]
        return {"focused": np.where(np.isnan(confidence), np.nan, confidence >= FOCUSED)}
