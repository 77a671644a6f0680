"""How important is each head at a step of a training? What `importance` gives, in one pass over all examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from headcount.choosing.estimators import SCHEMAS, VARIABLES, estimate, stability
from headcount.choosing.importance import Passes
from headcount.choosing.training_measurement import Measurement, Scene
from headcount.choosing.training_rows import Row, undisturbed
from headcount.core.results import HEAD_DIMS, Labelled
from headcount.core.schema import with_schemas
from headcount.data.batches import by_length, plan_batches

SPLITS = 20
"""Random halves of the examples, of which the agreement is taken."""


@dataclass(frozen=True)
class TrainingImportance(Measurement):
    """A row has `importance`, by the estimator, and the means that all estimators follow from."""

    estimator: str
    what: ClassVar[str] = "importance"
    order: ClassVar[str] = "importance"

    def settings(self, scene: Scene) -> dict[str, Any]:
        return {"estimator": self.estimator}

    def row(self, scene: Scene, step: int) -> Row:
        job = scene.job
        passes, order = Passes(job, scene.padding, "heads", None), by_length(job.encodings.lengths)
        batches = plan_batches(job.encodings.lengths[order], scene.tokens)
        with undisturbed(job.model):
            parts = [passes.run(order[first:last]) for first, last in batches]
        values = xr.Dataset(
            {key: (("example", *HEAD_DIMS), np.concatenate([part[key] for part in parts])) for key in parts[0]}
        )
        rows = np.arange(values.sizes["example"])
        found = {name: estimate(values, name, rows) for name in VARIABLES} | {
            "importance": estimate(values, self.estimator, rows)
        }
        return Row(
            step,
            {name: array.astype(np.float32) for name, array in found.items()},
            stability(values, self.estimator, SPLITS)[0],
        )

    def totals(self, row: Row) -> dict[str, float]:
        return {"half": half(row.arrays["michel"])}

    def by_layer(self, row: Row) -> tuple[str, np.ndarray]:
        layers = np.nansum(row.arrays["michel"], axis=-1)
        whole = layers.sum()
        return "share", layers / whole if whole else np.zeros_like(layers)

    def by_head(self, row: Row) -> tuple[str, np.ndarray]:
        return "importance", row.arrays["importance"]

    def arrays(self, rows: Sequence[Row]) -> Labelled:
        said = SCHEMAS | {"importance": replace(SCHEMAS[self.estimator], main=True)}
        return with_schemas(
            {
                name: (("checkpoint", *HEAD_DIMS), np.stack([row.arrays[name] for row in rows]))
                for name in (*VARIABLES, "importance")
            },
            said,
        )


def half(importance: np.ndarray) -> int:
    """The smallest number of heads that together have half of the importance.

    >>> half(np.array([[0.1, 0.5, np.nan], [0.2, 0.1, 0.1]]))
    1
    """
    values = np.sort(importance[np.isfinite(importance)])[::-1]
    return int(np.searchsorted(np.cumsum(values), values.sum() / 2) + 1) if values.sum() else 0
