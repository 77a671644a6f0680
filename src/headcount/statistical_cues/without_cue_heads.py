"""Does the model rely less on cues without the heads that carry them, and at what price? Beside random heads.

Heads are selected on one half of the examples and taken away on the other, one after the other. Random heads are drawn
from the same layers, so that a difference is not one of depth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headcount.core.heads import HeadSet
from headcount.core.results import Labelled, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.statistical_cues.head_effects import Parts, accuracy_changes, as_triple, resampled

REMOVED = (1, 2, 4, 8)
"""How many heads are taken away."""
RANDOMS = 10
"""Random sets of heads for each of these numbers."""
_UNIT = "log-odds"
SCHEMAS = {
    "removed": Schema("Heads gone", range=(1, None)),
    "removed_heads": Schema("Heads that carry cues", "", "selected on one half of the examples, most first"),
    "reliance_after": Schema("Reliance on cues without them", _UNIT, "on the other half of the examples"),
    "reliance_change": Schema("Change of reliance on cues", _UNIT, "below 0: less", signed=True),
    "random_reliance_change": Schema(
        "Change of reliance without random heads", _UNIT, "mean over the draws", signed=True
    ),
    "reliance_gain": Schema(
        "Change of reliance, beyond that of random heads", _UNIT, "below 0: these heads carry cues", signed=True
    ),
    "evidence_change": Schema("Change of evidence beyond cues", _UNIT, "below 0: less", signed=True),
    "accuracy_change": Schema("Change of accuracy", "share", "below 0: the price", signed=True),
    "random_accuracy_change": Schema(
        "Change of accuracy without random heads", "share", "mean over the draws", signed=True
    ),
}


def compare_sets(
    chosen: list[HeadSet],
    removed: Sequence[int],
    baseline: np.ndarray,
    odds: np.ndarray,
    baseline_right: np.ndarray,
    right: np.ndarray,
    parts: Parts,
    seed: int,
) -> Labelled:
    """What the sets do, from log-odds and right/wrong of the examples that did not select them.

    `odds`, `right` [set, example]: the chosen sets, then as many random ones of each.
    """
    count = len(chosen)
    before, _ = resampled(baseline[None], parts, seed)
    reliance, evidence = resampled(odds - baseline, parts, seed)
    mine, others = reliance[:count], reliance[count:].reshape(count, -1, reliance.shape[1]).mean(1)
    everywhere = np.ones(len(baseline), dtype=bool)
    accuracy = accuracy_changes(baseline_right, right, everywhere)
    along = ("removed",)
    arrays = {
        "removed": (along, np.array(removed)),
        "removed_heads": (along, np.array([str(heads) for heads in chosen], dtype=object)),
        **with_interval("reliance_after", along, as_triple(before + mine)),
        **with_interval("reliance_change", along, as_triple(mine)),
        "random_reliance_change": (along, others[:, 0]),
        **with_interval("reliance_gain", along, as_triple(mine - others)),
        **with_interval("evidence_change", along, as_triple(evidence[:count])),
        **with_interval("accuracy_change", along, [values[:count] for values in accuracy]),
        "random_accuracy_change": (along, accuracy[0][count:].reshape(count, -1).mean(1)),
    }
    return with_schemas(arrays, SCHEMAS)
