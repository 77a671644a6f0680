"""The mean output of every head at the last token of a prompt, over groups of prompts: function vectors."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headcount.ablation.job import Job
from headcount.data.batches import by_length, collate, plan_batches
from headcount.models.dispatched import input_device
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.modes import evaluating
from headcount.trace.session import session

TOKENS = 4096
"""Tokens of a batch."""


def prompt_means(job: Job, groups: np.ndarray, count: int, padding: int) -> dict[LayerKey, Tensor]:
    """By layer, the means [group, heads of the layer, size] over the prompts whose group [example] it is."""
    sums: dict[LayerKey, Tensor] = {}
    order = by_length(job.encodings.lengths)
    for start, stop in plan_batches(job.encodings.lengths[order], TOKENS):
        chosen = order[start:stop]
        rows = [job.encodings.rows[row] for row in chosen]
        ends = [job.task.kind.prompt_end(row) for row in rows]
        batch = collate(rows, padding, input_device(job.model))

        def add(run: LayerRun, ends: list[int] = ends, chosen: np.ndarray = chosen) -> None:
            last = run.outputs[torch.arange(len(ends)), ends].double()
            if run.layer_key not in sums:
                sums[run.layer_key] = last.new_zeros(count, *last.shape[1:])
            sums[run.layer_key].index_add_(0, torch.as_tensor(groups[chosen], device=last.device), last)

        observers = {block.layer_key: add for block in job.anatomy}
        summing = session(job.model, observers=observers, purpose="the mean over prompts", outputs_only=True)
        with evaluating(job.model), torch.no_grad(), summing:
            job.model(**job.task.kind.inputs(job.model, batch), use_cache=False)
    sizes = torch.as_tensor(np.bincount(groups, minlength=count))
    return {key: total / sizes.to(total)[:, None, None] for key, total in sums.items()}
