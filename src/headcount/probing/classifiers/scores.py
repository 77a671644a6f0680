"""What classifiers get right on test sentences: scores with intervals, and how much better they are than baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headcount.core.probe_names import ATTENTION, BOTH, DISTANCE, RANDOM, RIGHT_BRANCHING
from headcount.core.results import HEAD_DIMS, Labelled, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.engines.run import Arrays
from headcount.probing.selection.accuracies import Evaluated, Triple, evaluate

ALONG = ("probe",)
CONTROLS = {f"{name}{RANDOM}": name for name in (ATTENTION, BOTH)}
"""The same classifiers on the attention of the model with random weights; the vectors of the words stay the same."""
SHARE, PAPER = "share of the words", "Clark 2019, section 5"
SCHEMAS = {
    "probe": Schema("Classifier"),
    "uas": Schema("Unlabelled attachment score", SHARE, "1: every head is found", (0, 1), paper=PAPER, shown=False),
    "uas_by_seed": Schema("Unlabelled attachment score of each seed", SHARE, range=(0, 1), paper=PAPER, shown=False),
    "development_uas": Schema(
        "Score on the sentences that stop the training", SHARE, range=(0, 1), paper=PAPER, shown=False
    ),
    "epochs": Schema("Epochs of training", "epochs", range=(1, None), shown=False),
    "gain_right_branching": Schema("Above the next word", SHARE, signed=True, shown=False),
    "gain_distance": Schema("Above distance and words", SHARE, signed=True, shown=False),
    "gain_random_weights": Schema("Above random weights", SHARE, signed=True, shown=False),
    "weight": Schema(
        "Weight in the attention-only classifier",
        "score per unit of attention",
        "above 0: its attention speaks for a dependency; below 0: against one",
        signed=True,
        category="Syntax",
        paper=PAPER,
    ),
    "test_words": Schema("Words of a test sentence whose head is predicted", "words", range=(0, None), shown=False),
    "right_branching": Schema("Words whose head is the next word", "words", range=(0, None), shown=False),
    "classifier": Schema("Classifier of a training run"),
    "training_seed": Schema("Seed of a training run"),
    "values_right": Schema("Words whose head is found", "words", range=(0, None), shown=False),
    "values_development": Schema("Score on the sentences that stop the training", SHARE, range=(0, 1), shown=False),
    "values_epochs": Schema("Epochs of training", "epochs", range=(1, None), shown=False),
    "values_weight": Schema("Weight in the attention-only classifier", "score per unit of attention", shown=False),
}


def trained_classifiers(control: bool) -> tuple[str, ...]:
    """Those that are trained; the right-branching baseline is not."""
    return (DISTANCE, ATTENTION, BOTH, *(CONTROLS if control else ()))


def summarise_classifiers(values: Arrays, fixed: Labelled, planned: Sequence[tuple[str, int]], seed: int) -> Labelled:
    """The scores along `probe`: right-branching, then the trained classifiers; and the weights of the heads.

    `uas` is the mean over the seeds, its interval is over the test sentences; gains are paired: on the same resamples.
    `planned`: the classifier and the seed of each example, by classifier.
    """
    names = tuple(dict.fromkeys(name for name, _ in planned))
    right, development, epochs, weights = (
        values[f"values_{part}"].reshape(len(names), -1, *values[f"values_{part}"].shape[1:])
        for part in ("right", "development", "epochs", "weight")
    )
    words, branching = fixed["test_words"][1], fixed["right_branching"][1]
    right = np.concatenate([np.broadcast_to(branching, (1, *right.shape[1:])), right])
    probes = (RIGHT_BRANCHING, *names)
    scored = _evaluate(right.mean(1), words, seed)
    arrays: Labelled = {
        "probe": (("probe",), np.array(probes, dtype=object)),
        **with_interval("uas", ALONG, scored.interval()),
        "uas_by_seed": (("probe", "seed"), right.sum(-1) / words.sum()),
        "development_uas": (("probe",), np.array([np.nan, *development.mean(1)])),
        "epochs": (("probe",), np.array([np.nan, *epochs.mean(1)])),
        **with_interval("gain_right_branching", ALONG, _gain(scored, probes, dict.fromkeys(probes, RIGHT_BRANCHING))),
        **with_interval("gain_distance", ALONG, _gain(scored, probes, dict.fromkeys(probes, DISTANCE))),
        "weight": ((*HEAD_DIMS, "direction"), weights[names.index(ATTENTION)].mean(0)),
    }
    if set(CONTROLS) <= set(names):
        controls = {own: control for control, own in CONTROLS.items()}
        arrays = {**arrays, **with_interval("gain_random_weights", ALONG, _gain(scored, probes, controls))}
    return with_schemas(arrays, SCHEMAS)


def _evaluate(right: np.ndarray, words: np.ndarray, seed: int) -> Evaluated:
    """All test sentences evaluate: none of them selected anything."""
    columns = len(right)
    cases = np.tile(words[:, None], (1, columns))
    return evaluate(right.T, cases, np.arange(columns), np.zeros(len(words), dtype=bool), seed)


def _gain(scored: Evaluated, names: tuple[str, ...], baselines: Mapping[str, str]) -> Triple:
    """How far each is above its baseline; NaN where it has none or is the baseline itself."""
    columns = [names.index(baselines[name]) if name in baselines and baselines[name] != name else -1 for name in names]
    return scored.above(scored.take(np.array(columns)))
