"""When does the order of heads settle? Importance and pruning curve at every checkpoint (Michel 2019, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from headcount.ablation.job import Data, find_known_task, task_metric
from headcount.ablation.sweep import check_generate
from headcount.choosing.curves import SAID, curve
from headcount.choosing.estimators import CHOICES, estimate
from headcount.choosing.halves import read_halves
from headcount.choosing.importance import importance
from headcount.choosing.orders import by_values, removals
from headcount.choosing.run_examples import examples_of_run
from headcount.core.provenance import Origin, fingerprint, origin_of
from headcount.core.renamed import renamed
from headcount.core.results import ENDS, HEAD_DIMS, Labelled
from headcount.core.schema import Schema, with_schemas
from headcount.core.statistics import rank_correlation
from headcount.core.writers import writes_study
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.ledger import announce, perform
from headcount.engines.progress import Progress, in_step
from headcount.engines.run import Run
from headcount.errors import InvalidOption
from headcount.models.fingerprint import model_fingerprint
from headcount.models.load import load_model, load_tokenizer
from headcount.trace.anatomy import read_anatomy

GROUP = "pruning/dynamics"
SCHEMAS = {
    "checkpoint": Schema("Step", "of the training", range=(0, None)),
    "agreement": Schema(
        "Agreement with the last order",
        "rank correlation",
        "1: the heads are ordered as at the end",
        (-1, 1),
        signed=True,
        paper="Michel 2019, Figure 5",
    ),
}
"""Scores mean what each checkpoint's curve says of them, importance what its estimator does."""


def find_checkpoints(folder: str | Path) -> list[Path]:
    """The models along the way that `finetune --checkpoints` wrote into a run's folder, in order."""
    run = Path(folder)
    checkpoints = sorted((run / "checkpoints").glob("step-*")) or sorted(run.glob("step-*"))
    if len(checkpoints) < 2:
        raise InvalidOption(
            f"{run} has {len(checkpoints)} checkpoints (step-...); expected a run of finetune --checkpoints with at "
            "least 2"
        )
    return checkpoints


@renamed(max_new_tokens='generate={"max_new_tokens": ...}')
@takes_engine
@writes_study("study")
def dynamics(
    folder: str | Path,
    data: Data | None = None,
    *,
    task: str | Task | None = None,
    steps: int = 10,
    estimator: str = "michel_normed",
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    metric: Any = None,
    generate: Mapping[str, Any] | None = None,
    device: str = "cpu",
    study: str | Path | None = None,
    tokenizer: str | Path | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """A Dataset with dims (checkpoint, removed), and the importance (checkpoint, stack, layer, head).

    `data` and `task`: by default those of the run, with its validation examples; without `data`, a GLUE task that the
    run was not trained for is read from the hub. For each checkpoint the heads are ordered by importance on one half of
    the examples and removed step by step on the other: `score`, `delta`, `low`, `high`. `agreement` with
    `agreement_low` and `_high`: the rank correlation of its importance with that of the last one. `study`: a folder;
    the same call goes on where it stopped. `tokenizer`: a folder or a hub name, where the checkpoints have none.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    if estimator not in CHOICES:
        raise InvalidOption(f"got the estimator {estimator!r}; expected one of {', '.join(CHOICES)}")
    removals(1, steps)  # checked before anything is written
    check_numbers(seed=seed, limit=limit, max_length=max_length)
    if task is not None and data is not None:  # options without effect are refused before anything is read
        check_generate(generate, task_metric(find_known_task(data, task), metric))
    checkpoints = find_checkpoints(folder)
    known, data = examples_of_run(folder, data, task, tokenizer or checkpoints[0])
    check_generate(generate, task_metric(known, metric))
    parts = read_halves(data, known, limit, seed, load_tokenizer(checkpoints[0]))
    shared: dict[str, Any] = {"task": known, "seed": seed, "max_length": max_length, "out": study}
    curves, values, marks = [], [], []
    if study is not None:
        _announce(study, checkpoints, known)
    for checkpoint in checkpoints:
        model = load_model(checkpoint, head=known.kind.name, dtype=torch.float32).to(device)
        words = load_tokenizer(tokenizer or checkpoint)
        layout = read_anatomy(model).layout
        name = None if study is None else checkpoint.name
        estimated = importance(model, words, parts[0], name=name, progress=in_step(progress, checkpoint.name), **shared)
        order = by_values(estimate(estimated, estimator), layout)
        curves.append(
            curve(
                model,
                words,
                parts[1],
                {"importance": order},
                steps=steps,
                name=name,
                metric=metric,
                generate=generate,
                progress=in_step(progress, checkpoint.name),
                **shared,
            )
        )
        values.append(estimated[estimator])
        marks.append(model_fingerprint(model))
    data_mark = fingerprint([part.to_json() for part in parts])
    run = Run(
        GROUP,
        Origin({"models": marks, "data": data_mark, "seed": seed}, origin_of(curves[0].attrs).attributes),
        {"task": known.name, "steps": steps, "estimator": estimator, "limit": limit, "max_length": max_length},
        {key: curves[0].attrs[key] for key in (*SAID, "heads", "examples") if key in curves[0].attrs}
        | {"estimator": estimator},
        lambda _: _arrays(checkpoints, curves, values),
    )
    return perform(run, study)


def agreements(importance: np.ndarray, draws: int = 2000) -> dict[str, np.ndarray]:
    """`agreement` with interval: the rank correlation of each step's importance [step, ...] with the last one's."""
    last = importance[-1].ravel()
    found = np.array([rank_correlation(one.ravel(), last, draws) for one in importance])
    return {f"agreement{end}": found[:, column] for column, end in enumerate(ENDS)}


def _announce(study: str | Path, checkpoints: list[Path], task: Task) -> None:
    """All checkpoints are of one training, of which the study's model must be one."""
    marks = {
        str(checkpoint): model_fingerprint(load_model(checkpoint, head=task.kind.name, dtype=torch.float32))
        for checkpoint in checkpoints
    }
    announce(GROUP, marks, study)


def _arrays(checkpoints: list[Path], curves: list[xr.Dataset], values: list[xr.DataArray]) -> Labelled:
    importance_by_step = np.stack([one.values for one in values])
    by_step = {
        key: (("checkpoint", "removed"), np.stack([one[key].values[0] for one in curves]), curves[0][key].attrs)
        for key in ("score", "delta", "low", "high")
    }
    by_checkpoint = {
        "checkpoint": np.array([int(checkpoint.name.removeprefix("step-")) for checkpoint in checkpoints]),
        **agreements(importance_by_step),
    }
    baseline, axes = [one["baseline"] for one in curves], (curves[0]["removed"], *(values[0][dim] for dim in HEAD_DIMS))
    return {
        **by_step,
        **with_schemas({name: (("checkpoint",), array) for name, array in by_checkpoint.items()}, SCHEMAS),
        "baseline": (("checkpoint",), np.array([float(one) for one in baseline]), baseline[0].attrs),
        "importance": (("checkpoint", *HEAD_DIMS), importance_by_step, values[0].attrs),
        **{str(axis.name): (axis.dims, axis.values, axis.attrs) for axis in axes},
    }
