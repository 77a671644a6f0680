"""The scores of the sets of a sweep, read back from its result: for statistics that compare sets with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from headcount.ablation.evidence import Evidence, drawn_features, evidence_of
from headcount.core.mean_changes import mean_changes
from headcount.core.score_tables import Sums
from headcount.core.statistics import bootstrap, interval, permutation_test
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.metrics import Metric


@dataclass(frozen=True)
class StoredScores:
    """The whole model (number 0) and each set of a sweep (from 1 on), example by example.

    `outputs`: of each of them, its outputs for each draw. Differences are `better`: positive where the score is the
    better one, whatever the metric.
    """

    metric: Metric
    outputs: Sequence[Sequence[dict[str, Any]]]
    labels: Any
    seed: int = 0

    @classmethod
    def read(cls, swept: xr.Dataset, kind: Kind, metric: str, seed: int = 0) -> StoredScores:
        """From the result of a sweep over sets of heads."""
        keys = [
            str(name).removeprefix("baseline_")
            for name, array in swept.data_vars.items()
            if str(name).startswith("baseline_") and "example" in array.dims
        ]
        baseline = {key: swept[f"baseline_{key}"].values for key in keys}
        variants = {key: swept[key].values for key in keys}
        draws = range(swept.sizes.get("draw", 1))
        drawn = "draw" in swept.sizes
        outputs = [[kind.outputs(baseline)] * len(draws)]
        for number in range(swept.sizes["set"]):
            each = {key: values[number] if drawn else values[number][None] for key, values in variants.items()}
            outputs.append([kind.outputs({key: values[draw] for key, values in each.items()}) for draw in draws])
        labels = swept["label"].values if "label" in swept else None
        return cls(kind.find_metric(metric), outputs, labels, seed)

    @property
    def sign(self) -> int:
        return 1 if self.metric.higher_is_better else -1

    @cached_property
    def table(self) -> Sums:
        """The features of all of them."""
        return self.some(range(len(self.outputs)))

    def some(self, numbers: Sequence[int]) -> Sums:
        """The features of some of them, the first as the baseline."""
        features = np.stack([drawn_features(self.metric, list(self.outputs[n]), self.labels) for n in numbers])
        return Sums(features, self.metric.combine)

    @cached_property
    def scores(self) -> np.ndarray:
        """[number]"""
        scores: np.ndarray = self.table.scores(np.ones((1, self.table.examples)))[0]
        return scores

    @cached_property
    def resampled(self) -> np.ndarray:
        """[resample, number]: the scores on paired resamples of the examples."""
        return bootstrap(self.table, seed=self.seed)

    def better(self, weights: np.ndarray) -> tuple[float, float, float]:
        """A weighted sum of the scores [number] and its one-sided 95 % bounds, the worse first."""
        signed = self.sign * np.asarray(weights, dtype=float)
        value = float(self.scores @ signed)
        if self.metric.name != "perplexity" and (self.metric.mean or self.metric.correct is not None):
            features = self.table.features
            tested = mean_changes((signed @ features[..., 0])[None], features[0, :, 1], self.seed)
            return value, float(tested.bound_low[0]), float(tested.bound_high[0])
        low, high = interval(self.resampled @ signed, 0.90)
        return value, float(low), float(high)

    def evidence(self, baseline: int, numbers: Sequence[int]) -> Evidence:
        """The evidence for the change of each of these sets against another one, by the test of the metric."""
        chosen = [baseline, *numbers]
        table = self.some(chosen)
        tested, exchanged = permutation_test(table, self.seed)
        first = [self.outputs[number][0] for number in chosen]
        resampled, drawn = bootstrap(table, seed=self.seed), len(self.outputs[0]) > 1
        return evidence_of(table, first, self.labels, self.metric, resampled, tested, exchanged, self.seed, drawn=drawn)
