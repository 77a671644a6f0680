"""What a model predicts for examples: as for the baseline of a sweep, in batches of similar length."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from headcount.ablation.job import Job
from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.kinds.outputs import locate_not_finite
from headcount.trace.modes import evaluating
from headcount.trace.not_finite import not_finite

TOKENS = 4096
"""Padded tokens of a batch."""


def predict_labels(job: Job, tokenizer: Any) -> np.ndarray:
    """[example]: the class or choice that the model predicts; outputs that are not finite are an error."""
    model, kind, rows = job.model, job.task.kind, job.encodings.rows
    order = by_length(job.encodings.lengths)
    shapes = kind.output_shapes(model, rows)
    parts: dict[str, list[np.ndarray]] = {}
    with evaluating(model), torch.inference_mode():
        for start, stop in plan_batches(job.encodings.lengths[order], TOKENS):
            batch = collate([rows[row] for row in order[start:stop]], tokenizer.pad_token_id or 0, model.device)
            reduced = kind.reduce(model(**kind.inputs(model, batch)), batch["labels"], shapes)
            arrays = {name: tensor.float().cpu().numpy() for name, tensor in reduced.items()}
            bad = locate_not_finite(arrays)
            if bad is not None:
                row = order[start + bad[0]]
                single = collate([rows[row]], tokenizer.pad_token_id or 0, model.device)
                example = job.examples.ids[row]
                raise not_finite(model, job.anatomy, kind.inputs(model, single), example, "the model's outputs are")
            for name, values in arrays.items():
                parts.setdefault(name, []).append(values)
    back = np.argsort(order)
    outputs = kind.outputs({name: np.concatenate(values)[back] for name, values in parts.items()})
    return np.asarray(kind.predictions(outputs))
