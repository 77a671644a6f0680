"""What was measured along one training as a result of a study: when does the order of heads settle?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.choosing.dynamics import GROUP, agreements
from headcount.choosing.dynamics import SCHEMAS as ALONG
from headcount.choosing.training_measurement import Measurement, Scene
from headcount.choosing.training_rows import Row
from headcount.core.provenance import Origin
from headcount.core.results import Labelled, head_coords, label_axes
from headcount.core.schema import Schema, with_schemas
from headcount.core.writers import writes_study
from headcount.engines.ledger import perform
from headcount.engines.run import Run, group_name
from headcount.errors import StudyProblem
from headcount.models.fingerprint import find_origin

DRAWS = 400
"""Of the bootstrap of each agreement: a training has many steps, and its end should not have to wait."""
STABILITY = Schema(
    "Agreement of two halves of the examples",
    "rank correlation",
    "1: the order of heads is the same on both halves",
    (-1, 1),
    signed=True,
)


def check_place(study: str | Path, name: str | None, start: str, resumed: bool) -> None:
    """An error, before the training begins, where its result could not be added to the study."""
    from headcount.core.read_study import open_study

    path, group = Path(study), group_name(GROUP, name)
    if not path.exists():
        return
    if not resumed and (path / group).exists():
        raise StudyProblem(f"{path} has {group} already, of an earlier training; give another folder or name=")
    own = open_study(path).attrs.get("model")
    if own and own["fingerprint"] != start and not resumed:
        raise StudyProblem(
            f"{path} is a study of the model {own['name']} [{own['fingerprint'][:8]}], this training begins with "
            f"other weights [{start[:8]}]; give another study folder"
        )


@writes_study("study")
def training_dynamics(
    measurement: Measurement,
    scene: Scene,
    rows: Sequence[Row],
    start: str,
    seed: int,
    limit: int,
    study: str | Path | None = None,
    name: str | None = None,
) -> xr.Dataset:
    """The arrays of a measurement with dims (checkpoint, stack, layer, head), `agreement` and `stability`.

    `checkpoint` is the step of the training. `start`: the fingerprint of the model that it began with.
    """
    job, settings = scene.job, measurement.settings(scene)
    model: PreTrainedModel = job.model
    origin = find_origin(model, job.fingerprint, seed)
    identity = {key: value for key, value in origin.identity.items() if key != "model"}
    identity |= {"models": [start, origin.identity["model"]]}
    run = Run(
        group_name(GROUP, name),
        Origin(identity, origin.attributes),
        {
            "task": job.task.name,
            **settings,
            "limit": limit,
            "max_length": job.encodings.limit,
            "steps": [row.step for row in rows],
        },
        job.attributes | settings | {"heads": job.anatomy.layout.count, "examples": len(job.examples.ids)},
        lambda _: _arrays(measurement, scene, rows),
    )
    return perform(run, study)


def _arrays(measurement: Measurement, scene: Scene, rows: Sequence[Row]) -> Labelled:
    along = {
        "checkpoint": np.array([row.step for row in rows]),
        "stability": np.array([row.stability for row in rows]),
        **agreements(np.stack([row.arrays[measurement.order] for row in rows]), DRAWS),
    }
    return {
        **with_schemas(
            {name: (("checkpoint",), array) for name, array in along.items()}, ALONG | {"stability": STABILITY}
        ),
        **measurement.arrays(rows),
        **label_axes(head_coords(scene.job.anatomy.layout)),
    }
