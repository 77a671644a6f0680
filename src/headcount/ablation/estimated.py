"""How well did the estimate that selected heads predict their exact effects, and for which heads did it fail?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.ablation.choices import Choices
from headcount.ablation.hows import Patch, Spec, how_options
from headcount.ablation.job import Job
from headcount.core.claims import significant
from headcount.core.mean_changes import mean_changes
from headcount.core.schema import Schema
from headcount.core.statistics import false_discovery, rank_correlation
from headcount.core.sweep_schemas import PATCHED
from headcount.data.kinds.metrics import Metric
from headcount.errors import InvalidOption

NEAR, TOO_SMALL, TOO_LARGE, WRONG_SIGN = range(4)
OFF = 0.5
"""An estimate fails if it is off by more than this share of the exact effect, or of itself if that is larger."""
FEWEST = 3
"""Heads that a correlation needs."""
SCHEMAS = {
    "estimated": Schema(
        "Estimated change", "", "by attribution, to first order", signed=True, category=PATCHED, rank=30
    ),
    "estimate_error": Schema("Exact change minus estimated change", "", signed=True, category=PATCHED, rank=31),
    "estimate_failed": Schema(
        "Where attribution fails",
        direction="off by more than half (q < 0.05); too small: a saturated head",
        names=("near", "too small", "too large", "wrong sign"),
        category=PATCHED,
        rank=32,
    ),
    "estimate_correlation": Schema("Rank correlation of attribution and exact patching", "", range=(-1, 1)),
    "control_correlation": Schema("The same over the control alone", "", range=(-1, 1)),
}


def check_estimates(choices: Choices, spec: Spec, metric: str) -> None:
    """Refuse heads that were selected by an estimate of something else than this sweep computes."""
    estimates = None if choices.screened is None else choices.screened.estimates
    if estimates is None:
        return
    if not isinstance(spec, Patch):
        raise InvalidOption(f"got how={spec.name!r} and heads selected by attribution, which estimates how='patch'")
    ours, theirs = how_options(spec), how_options(estimates.how)
    other = [name for name in ours if ours[name] != theirs[name]]
    if other:
        raise InvalidOption(
            f"got {other[0]}={ours[other[0]]!r} and heads selected by the attribution of {other[0]}="
            f"{theirs[other[0]]!r}; give both the same how="
        )
    if metric != estimates.metric:
        raise InvalidOption(
            f"got the metric {metric!r} and heads selected by the attribution of {estimates.metric!r}; give both the "
            "same metric="
        )


def compare_estimates(
    choices: Choices, job: Job, baseline: Mapping[str, np.ndarray], variants: Mapping[str, np.ndarray], seed: int
) -> dict[str, tuple[Any, ...]]:
    """The estimates beside the exact changes, for the heads that were run; empty without estimates.

    `estimated`, and `estimate_correlation` with its interval over the heads, `control_correlation` over those of the
    control. If both are of the same examples, `estimate_error` [head], the mean difference of exact and estimated
    change, with its interval and q over the examples, and `estimate_failed`: where that is significant and more than
    half of the change.
    """
    screened = choices.screened
    if screened is None or screened.estimates is None:
        return {}
    estimates = screened.estimates
    assert isinstance(job.metric, Metric)  # attribution takes no functions
    kind, labels, numbers = job.task.kind, job.examples.labels, range(len(choices.sets))
    outputs = [baseline, *({key: values[number] for key, values in variants.items()} for number in numbers)]
    scores = np.stack([job.metric.features(kind.outputs(each), labels)[:, 0] for each in outputs])
    exact = scores[1:] - scores[0]
    columns = [estimates.heads.index(head) for head in choices.keys]
    guessed = estimates.values[:, columns].T
    means = (guessed.mean(1), exact.mean(1))
    control = np.isin([str(head) for head in choices.keys], [str(head) for head in screened.control])
    arrays = _by_head(choices, {"estimated": means[0]})
    arrays |= _correlation("estimate_correlation", *means) | _correlation(
        "control_correlation", means[0][control], means[1][control]
    )
    if estimates.data == job.fingerprint:
        arrays |= _by_head(choices, _errors(guessed, exact, seed, screened.of))
    return {name: (*array, SCHEMAS[name].attributes() if name in SCHEMAS else {}) for name, array in arrays.items()}


def _errors(guessed: np.ndarray, exact: np.ndarray, seed: int, tests: int) -> dict[str, np.ndarray]:
    """What the estimates [head, example] are off by, and how they fail."""
    found = mean_changes(exact - guessed, np.ones(exact.shape[1]), seed, tests)
    q = false_discovery(found.p, tests)
    sizes = np.abs(guessed.mean(1)), np.abs(exact.mean(1))
    off = significant(q) & (np.abs(found.delta) > OFF * np.maximum(*sizes))
    small, large = sizes[0] < OFF * sizes[1], sizes[1] < OFF * sizes[0]
    failed = np.where(off, np.where(small, TOO_SMALL, np.where(large, TOO_LARGE, WRONG_SIGN)), NEAR)
    error = {"estimate_error": found.delta, "estimate_error_low": found.low, "estimate_error_high": found.high}
    return error | {"estimate_error_p": found.p, "estimate_error_q": q, "estimate_failed": failed.astype(float)}


def _by_head(choices: Choices, values: Mapping[str, np.ndarray]) -> dict[str, tuple[Any, ...]]:
    return {name: (choices.dims, choices.arrange(list(array))) for name, array in values.items()}


def _correlation(name: str, first: np.ndarray, second: np.ndarray) -> dict[str, tuple[Any, ...]]:
    triple = rank_correlation(first, second) if len(first) >= FEWEST else (np.nan,) * 3
    return {f"{name}{end}": ((), np.asarray(value)) for end, value in zip(("", "_low", "_high"), triple, strict=True)}
