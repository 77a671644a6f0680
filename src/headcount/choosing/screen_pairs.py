"""Which pairs of heads are worth an exact sweep? Those with the largest second derivatives, and a random control."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from headcount.ablation.choices import ScreenedPairs, find_among, heads_of
from headcount.ablation.job import Data
from headcount.choosing.curvature import curvature
from headcount.choosing.screen import CONTROL, TOP
from headcount.core.heads import Head
from headcount.core.options import without_effect
from headcount.core.writers import writes_study
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.compute import Compute
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy

HESSIAN = "hessian"


@takes_compiled
@writes_study("out")
def screen_pairs(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    among: Any = "all",
    task: str | Task | None = None,
    top: int = TOP,
    control: int | None = None,
    stack: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    progress: Progress | None = None,
) -> ScreenedPairs:
    """The pairs of heads to sweep where all are too many, for `by=` of `headcount.sweep`: the top ones, and a control.

    Pairs of the heads `among`, by default all (of one `stack`), are ranked by the size of the second derivative of the
    mean loss in their gates, at gates of 1: one backward pass for each head. The `top` ones are selected, and as a
    `control` (by default 32) pairs drawn at random, with `seed`, among all others. A second derivative is about small
    changes: where a head's removal saturates, as where another one takes over completely, it may be small although the
    pair interacts strongly. The control bounds how many such pairs were missed.
    `out`: a study folder, which gets the derivatives; the other options as for `importance`.
    """
    check_numbers(top=top, control=control)
    layout = read_anatomy(model).layout
    if among != "all":
        without_effect("stack", stack, "the heads of among= name their stacks")
    heads = find_among(layout, heads_of(layout, stack) if among == "all" else among)
    count = len(heads) * (len(heads) - 1) // 2
    if top >= count:
        raise InvalidOption(f"got top={top}; expected fewer than the {count:,} pairs: without screen= all are run")
    if control is not None and top + control > count:
        raise InvalidOption(f"got control={control}; expected at most {count - top:,}, the pairs that are not top ones")
    # Every shard ranks all pairs: its part of the heads would not do.
    whole = replace(compute or Compute(), shard=None, memory=None, compiled=None, batch_tokens=None)
    second = curvature(
        model,
        tokenizer,
        data,
        heads,
        task=task,
        limit=limit,
        seed=seed,
        max_length=max_length,
        out=out,
        name=name,
        compute=whole,
        progress=progress,
    )["curvature"].values
    return select_pairs(heads, second, top, control, seed)


def select_pairs(heads: list[Head], second: np.ndarray, top: int, control: int | None, seed: int) -> ScreenedPairs:
    """The `top` pairs with the largest second derivatives, and some of the others, drawn at random."""
    rows, columns = np.triu_indices(len(heads), 1)
    values = second[rows, columns]
    ranked = np.argsort(-np.abs(values), kind="stable")
    others = np.sort(ranked[top:])
    drawn = min(CONTROL, len(others)) if control is None else control
    sample = np.sort(np.random.default_rng(seed).choice(others, drawn, replace=False))
    chosen = [*ranked[:top], *sample]
    pairs = [(heads[rows[index]], heads[columns[index]]) for index in chosen]
    estimated = tuple(float(values[index]) for index in chosen)
    return ScreenedPairs(HESSIAN, tuple(pairs[:top]), tuple(pairs[top:]), len(values), estimated)
