"""Which pairs of heads may interact? The second derivatives of the loss in the gates of heads, at gates of 1.

Every head's output is multiplied by a gate of 1. To the second order, the loss without two heads is the loss, minus the
two slopes, plus half of each curvature, plus the mixed derivative: that one is the interaction. A row of them is the
derivative of one head's slope, which takes one more backward pass (a Hessian-vector product).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import PreTrainedModel

from headcount.ablation.job import Data, Job, prepare_job
from headcount.choosing.importance import batch_of, frozen, padding_of
from headcount.core.heads import Head
from headcount.core.options import belongs_to
from headcount.core.provenance import fingerprint
from headcount.core.results import ArrayPlan, Labelled, label_axes
from headcount.core.schema import Schema
from headcount.core.writers import writes_study
from headcount.data.batches import by_length, plan_batches
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.compute import Compute, check_compute
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import Batched, tick
from headcount.errors import HeadcountError, NotFinite
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import find_origin
from headcount.trace.at_once import batches_at_once, bytes_per_token
from headcount.trace.edits import LayerKey
from headcount.trace.gates import Gate
from headcount.trace.modes import evaluating
from headcount.trace.precision import wide
from headcount.trace.session import check_untouched, session

UNIT = 24
"""Heads of a unit: each unit runs the texts again, which costs as much as a product or two."""
CPU_TOKENS, GPU_TOKENS = 512, 8192
GRAPH = 6
"""How much more a pass keeps that is differentiated twice."""
SCHEMA = Schema(
    "Second derivative of the loss in the gates of two heads",
    "nats",
    "above 0: redundant to the second order",
    signed=True,
    shown=False,
)


@takes_compiled
@writes_study("out")
def curvature(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    heads: Sequence[Head],
    *,
    task: str | Task | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The mean over the examples of d2 loss / dg_i dg_j for these heads: `curvature` [first, second], symmetric.

    A unit of work, and an `example` of the stored array, is a head: a kill loses the rows of a few heads.
    """
    compute, part = check_compute(compute, out)
    check_numbers(seed=seed, limit=limit, max_length=max_length, batch_tokens=compute.batch_tokens)
    belongs_to("name", name, "out", out)
    if out is not None:
        check_untouched(model)
    job = prepare_job(model, tokenizer, data, task, "zero", None, limit, seed, max_length)
    layout, examples = job.anatomy.layout, len(job.examples.ids)
    names = [layout.spell(head) for head in heads]
    order = by_length(job.encodings.lengths)
    cuda = input_device(model).type == "cuda"
    tokens = compute.batch_tokens or (GPU_TOKENS if cuda else CPU_TOKENS)
    batches = [order[first:last] for first, last in plan_batches(job.encodings.lengths[order], tokens)]
    run = Run(
        group_name("curvature/gates", name),
        find_origin(model, job.fingerprint, seed),
        {
            "task": job.task.name,
            "limit": limit,
            "max_length": job.encodings.limit,
            "heads": fingerprint(list(map(str, heads))),
        },
        {"summary": "second derivatives of the loss in the gates of heads"} | job.attributes,
        _summarise,
        {"values_curvature": ArrayPlan(("example", "second"), (len(heads), len(heads)), "float64")},
        label_axes({"example": np.arange(len(heads)), "first": names, "second": names}),
        [(start, min(start + UNIT, len(heads))) for start in range(0, len(heads), UNIT)],
    )
    ledger = Ledger([run], out, part, progress)
    padding = padding_of(tokenizer)

    def split(unit: Unit) -> list[tuple[Unit, np.ndarray]]:
        return [(unit, rows) for rows in batches]

    def run_batch(batch: tuple[Unit, np.ndarray]) -> np.ndarray:
        unit, rows = batch
        sums = _mixed_derivatives(job, rows, padding, heads, range(unit.start, unit.stop))
        tick((unit.stop - unit.start) * len(rows) / examples)
        return sums

    def join(unit: Unit, parts: list[np.ndarray]) -> dict[str, Arrays]:
        return {run.group: {"values_curvature": np.sum(parts, axis=0) / examples}}

    layers = sum(map(layout.layers, layout.stacks))
    held = GRAPH * bytes_per_token(model, model.get_output_embeddings() is not None, layers)
    at_once = batches_at_once(model, max(tokens, int(job.encodings.lengths.max())) * held)
    # Fused attention has no second derivative. The choice of a kernel belongs to the process, not to a worker.
    with evaluating(model), frozen(model), torch.inference_mode(False), sdpa_kernel(SDPBackend.MATH):
        return ledger.perform(Batched(split, run_batch, join, at_once))[0]


def _summarise(arrays: Arrays) -> Labelled:
    """Symmetric in truth: the mean of both orders halves the rounding errors."""
    rows = arrays["values_curvature"]
    return {"curvature": (("first", "second"), (rows + rows.T) / 2, SCHEMA.attributes())}


def _mixed_derivatives(job: Job, rows: np.ndarray, padding: int, heads: Sequence[Head], some: range) -> np.ndarray:
    """The rows `some` of the sum of the examples' second derivatives [len(some), heads]."""
    _, inputs, labels = batch_of(job, rows, padding)
    gates: dict[LayerKey, Tensor] = {
        block.layer_key: torch.ones(
            len(block.heads), device=input_device(job.model), dtype=wide(job.model.dtype), requires_grad=True
        )
        for block in job.anatomy
    }
    edits = {key: Gate(tensor) for key, tensor in gates.items()}
    columns = {
        Head(*block.layer_key, head): (block.layer_key, number)
        for block in job.anatomy
        for number, head in enumerate(block.heads)
    }
    with torch.enable_grad(), session(job.model, edits, purpose="curvature", outputs_only=True):
        lost = job.task.kind.losses(job.model(**inputs), labels)
        slopes = _derivatives(lost.sum(), gates, again=True)
        found = np.zeros((len(some), len(heads)))
        for at, number in enumerate(some):
            key, column = columns[heads[number]]
            if slopes[key].requires_grad:  # not where the loss is linear in the gate
                second = _derivatives(slopes[key][column], gates)
                by_key = {one: tensor.detach().double().cpu().numpy() for one, tensor in second.items()}
                found[at] = [by_key[one][other] for one, other in (columns[head] for head in heads)]
    if not np.isfinite(found).all():
        dtype = str(job.model.dtype).removeprefix("torch.")
        raise NotFinite(
            f"the second derivatives of the loss are not finite for the rows {job.examples.ids[rows[0]]} and so on "
            f"({dtype}); give dtype=float32"
        )
    return found


def _derivatives(value: Tensor, gates: dict[LayerKey, Tensor], again: bool = False) -> dict[LayerKey, Tensor]:
    """The derivative of a number in all gates, to be differentiated `again`; zeros where it does not depend on them."""
    try:
        found = torch.autograd.grad(
            value, list(gates.values()), retain_graph=True, create_graph=again, allow_unused=True
        )
    except RuntimeError as error:
        if "not implemented" not in str(error):
            raise
        raise HeadcountError(
            "an operation of this model has no second derivative, which screening pairs needs: "
            f"{str(error).splitlines()[0]}; name heads in among= instead"
        ) from error
    return {
        key: torch.zeros_like(gates[key]) if gradient is None else gradient
        for key, gradient in zip(gates, found, strict=True)
    }
