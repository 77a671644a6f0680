"""Is a head's attention broad or focused: its entropy, over all tokens and from the first one?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch

from headcount.core.schema import Schema
from headcount.measures.contract import Question, Schemas, Seen, Setting, Values
from headcount.trace.masks import allowed_counts

BROAD = 0.8
"""Of the entropy of uniform attention; Clark's 3.8 nats of 4.78."""


class Entropy(Question):
    """The entropy of a head's attention in nats, exact (Clark's code smooths the map a little), mean over tokens.

    `from_first`: of the first token alone ([CLS] where there is one). `uniform`: what attention to all tokens alike
    would have. Where nothing else is asked, no map is built.
    """

    name = "entropy"
    summary = "entropy of the attention in nats, of all tokens and of the first, beside that of uniform attention"
    paper = "Clark 2019, Fig 4"
    schemas: ClassVar[Schemas] = {
        "entropy": Schema(
            "Entropy of the attention",
            "nats",
            "low: looks at few tokens, high: at many alike",
            (0, None),
            most="is broadest (entropy in nats)",
        ),
        "from_first": Schema("Entropy of the first token's attention", "nats", "low: looks at few tokens", (0, None)),
        "uniform": Schema("Entropy of looking everywhere alike", "nats", "what the texts' lengths allow", (0, None)),
        "share_of_uniform": Schema(
            "How broadly it attends",
            "entropy, as a share of that of uniform attention",
            "1: attends to all tokens alike; 0: to one token",
            (0, 1),
            role="attends broadly",
            does="Attends broadly",
            baseline=BROAD,
            role_from=0.9,
            rank=13,
            main=True,
        ),
        "broad": Schema(
            "Broad head", "", "at least 0.8 of the entropy of looking everywhere alike", names=("no", "yes")
        ),
    }
    needs_map = False

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"entropy": (), "from_first": (), "uniform": ()}

    def see(self, seen: Seen) -> Values:
        entropy = seen.view.entropy()
        uniform = allowed_counts(seen.view.call).log().expand(len(entropy), -1, entropy.shape[-1])
        return {
            "entropy": seen.mean(entropy),
            "from_first": entropy[..., 0],
            "uniform": seen.mean(uniform).expand(-1, entropy.shape[1]).to(torch.float32),
        }

    def scale_of(self, variable: str, values: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The share is one of means over texts, so its scale is one in nats."""
        return values["entropy"], BROAD * values["uniform"], values["uniform"]

    def finish(self, means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        uniform = means["uniform"]  # 0 for texts of one token
        share = np.divide(means["entropy"], uniform, out=np.full_like(uniform, np.nan), where=uniform > 0)
        return {"share_of_uniform": share, "broad": np.where(np.isnan(share), np.nan, share >= BROAD)}
