"""A model beside the cue-only classifier: its accuracy where the cues point the right way and where they do not.

Examples are those that the cue-only classifier gets right and those that it gets wrong, out-of-fold. If it were no
better than guessing, it would be right on a share `floor` of the examples, and the model's accuracy would be
`floor` * accuracy where right + (1 - `floor`) * accuracy where wrong. What the accuracy is above this is explained by
the cues. Examples for which the cues point nowhere (no cue tells the choices apart) are left out of it.
"""

from __future__ import annotations

import numpy as np

from headcount.core.proportions import wilson_interval
from headcount.core.results import Labelled
from headcount.core.schema import Schema, with_schemas
from headcount.core.statistics import interval

DRAWS = 2000
PARTS = ("all", "cues right", "cues wrong", "no cue")
SCHEMAS = {
    "part": Schema("Examples", "", "by what the cue-only classifier says about them, out-of-fold"),
    "part_examples": Schema("Examples", "", "in this part", (0, None)),
    "model_accuracy": Schema("Accuracy of the model", "share", range=(0, 1)),
    "accuracy_without_cues": Schema(
        "Accuracy without cues", "share", "the model's, if the cue-only classifier were no better than guessing", (0, 1)
    ),
    "explained": Schema("Accuracy explained by cues", "share", "above 0: the model does better where cues help it"),
    "error_consistency": Schema(
        "Error consistency with the cue-only classifier",
        "kappa",
        "0: no more errors in common than two independent classifiers; 1: right and wrong on the same examples",
        (-1, 1),
    ),
}


def beside_model(model_right: np.ndarray, cues_right: np.ndarray, floor: float, seed: int) -> Labelled:
    """The accuracies of the model by part and what the cues explain of them, each with an interval.

    `model_right` [example]: whether the model is right; `cues_right` [example]: 1, 0, or in between where the cues
    point nowhere.
    """
    chosen = [np.ones(len(cues_right), dtype=bool), cues_right == 1, cues_right == 0]
    chosen.append(~chosen[1] & ~chosen[2])
    counts = np.array([part.sum() for part in chosen])
    hits = np.array([model_right[part].sum() for part in chosen])
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = hits / counts
    low, high = wilson_interval(hits, counts)
    cells = np.array([hits[1], counts[1] - hits[1], hits[2], counts[2] - hits[2]], dtype=float)
    arrays: dict[str, tuple[object, ...]] = {
        "part": (("part",), np.array(PARTS, dtype=object)),
        "part_examples": (("part",), counts),
        "model_accuracy": (("part",), accuracy),
        "model_accuracy_low": (("part",), low),
        "model_accuracy_high": (("part",), high),
    }
    total = int(cells.sum())
    draws = np.random.default_rng(seed).multinomial(total, cells / max(total, 1), DRAWS) if total else cells[None]
    names = ("accuracy_without_cues", "explained", "error_consistency")
    for name, value, samples in zip(names, _summaries(cells[None], floor), _summaries(draws, floor), strict=True):
        ends = interval(samples)
        arrays |= {name: ((), value[0]), f"{name}_low": ((), ends[0]), f"{name}_high": ((), ends[1])}
    return with_schemas(arrays, SCHEMAS)


def _summaries(cells: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From [draw, cell] counts (cues right: model right, wrong; cues wrong: model right, wrong) three numbers each."""
    both, cues_only, model_only, neither = cells.T.astype(float)
    total = cells.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        where_right, where_wrong = both / (both + cues_only), model_only / (model_only + neither)
        without = floor * where_right + (1 - floor) * where_wrong
        model, cues = (both + model_only) / total, (both + cues_only) / total
        by_accident = model * cues + (1 - model) * (1 - cues)
        consistency = ((both + neither) / total - by_accident) / (1 - by_accident)
    return without, model - without, consistency
