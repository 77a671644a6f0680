"""How much does the loss hang on each head? Estimates from one forward and one backward pass, with intervals.

Every head's output is multiplied by a gate of 1, one gate for each example. The gradient of an example's loss in its
gate is Att_h(x) . dL/dAtt_h(x), so one pass gives it for every head and every example, and any batch gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.job import Data, Job, prepare_job
from headcount.choosing.estimators import SAID, SCHEMAS, VARIABLES, summarise_importance
from headcount.core.heads import Head
from headcount.core.options import belongs_to
from headcount.core.renamed import renamed
from headcount.core.results import by_head
from headcount.core.writers import writes_study
from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.compute import Compute, check_compute
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import Batched, in_caller
from headcount.errors import NotFinite
from headcount.measures.results import coordinates, plan_values
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import find_origin
from headcount.trace.at_once import batches_at_once, bytes_per_token
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.gates import Gate
from headcount.trace.modes import evaluating
from headcount.trace.not_finite import not_finite
from headcount.trace.precision import wide, widened
from headcount.trace.session import check_untouched, session

UNIT, GPU_UNIT = 64, 1024
CPU_TOKENS, GPU_TOKENS = 1024, 32768


@renamed(batch_tokens="in compute=Compute(...)")
@takes_compiled
@writes_study("out")
def importance(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
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
    """The importance of every head for a task, as a Dataset with dims (stack, layer, head).

    `michel`, `taylor`, `gate`, `norm` and their `..._normed`, with intervals over the examples, and `values_...`, the
    value for each example. `data` and `task` as for `sweep`. `out`: a study folder; the same call goes on where it
    stopped. `compute`: how it runs; a shard whose other parts are not done yet gives what is there, without means.
    """
    compute, part = check_compute(compute, out)
    check_numbers(seed=seed, limit=limit, max_length=max_length, batch_tokens=compute.batch_tokens)
    belongs_to("name", name, "out", out)
    if out is not None:
        check_untouched(model)
    job = prepare_job(model, tokenizer, data, task, "zero", None, limit, seed, max_length)
    layout = job.anatomy.layout
    order = by_length(job.encodings.lengths)
    ids = np.asarray(job.examples.ids)[order]
    cuda = input_device(model).type == "cuda"
    size = GPU_UNIT if cuda else UNIT
    units = [(start, min(start + size, len(order))) for start in range(0, len(order), size)]
    coords = coordinates(layout, ids, {})
    run = Run(
        group_name("pruning/importance", name),
        find_origin(model, job.fingerprint, seed),
        {"task": job.task.name, "limit": limit, "max_length": job.encodings.limit},
        SAID | job.attributes,
        partial(summarise_importance, seed),
        plan_values(VARIABLES, coords, SCHEMAS),
        coords,
        units,
    )
    ledger = Ledger([run], out, part, progress)
    padding = padding_of(tokenizer)
    tokens = compute.batch_tokens or (GPU_TOKENS if cuda else CPU_TOKENS)

    def split(unit: Unit) -> list[np.ndarray]:
        rows = order[unit.start : unit.stop]
        return [rows[first:last] for first, last in plan_batches(job.encodings.lengths[rows], tokens)]

    def run_batch(rows: np.ndarray) -> Arrays:
        values = _batch(job, rows, padding)
        in_caller(ledger.tick, len(rows))
        return values

    def join(unit: Unit, parts: list[Arrays]) -> dict[str, Arrays]:
        return {run.group: {f"values_{key}": np.concatenate([part[key] for part in parts]) for key in VARIABLES}}

    # A backward pass needs what every layer has computed.
    held = bytes_per_token(model, model.get_output_embeddings() is not None, sum(map(layout.layers, layout.stacks)))
    at_once = batches_at_once(model, max(tokens, int(job.encodings.lengths.max())) * held)
    with evaluating(model), frozen(model), torch.inference_mode(False):
        return ledger.perform(Batched(split, run_batch, join, at_once))[0]


def batch_of(job: Job, rows: np.ndarray, padding: int) -> tuple[dict[str, Tensor], dict[str, Tensor], Tensor]:
    """Some examples as tensors: all of them, those that the model takes, and the labels."""
    batch = collate([job.encodings.rows[row] for row in rows], padding, input_device(job.model))
    return batch, job.task.kind.inputs(job.model, batch), batch["labels"]


def padding_of(tokenizer: Any) -> int:
    return int(tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id or 0)


def _batch(job: Job, rows: np.ndarray, padding: int) -> Arrays:
    """[example, stack, layer, head] of every variable for some examples."""
    batch, inputs, labels = batch_of(job, rows, padding)
    # The rows inside the layers: a multiple choice is several of them.
    width = batch["input_ids"].shape[1] if batch["input_ids"].ndim == 3 else 1
    gates: dict[LayerKey, Tensor] = {}
    lengths: dict[LayerKey, Tensor] = {}
    for block in job.anatomy:
        shape = (len(rows) * width, len(block.heads))
        ones = torch.ones(shape, device=input_device(job.model), dtype=wide(job.model.dtype), requires_grad=True)
        gates[block.stack, block.layer] = ones

    def measure(run: LayerRun) -> None:
        lengths[run.layer_key] = widened(run.outputs.detach()).norm(dim=-1)

    edits, observers = {key: Gate(tensor) for key, tensor in gates.items()}, dict.fromkeys(gates, measure)
    with torch.enable_grad(), session(job.model, edits, observers, purpose="importance", outputs_only=True):
        lost = job.task.kind.losses(job.model(**inputs), labels)
    check_losses(job, rows, padding, lost)
    slopes = torch.autograd.grad(lost.sum(), list(gates.values()), allow_unused=True)
    gradients: dict[LayerKey, Tensor | None] = dict(zip(gates, slopes, strict=True))
    check_gradients(job, rows, gradients, width)
    by_variable: dict[str, dict[Any, Any]] = {"michel": {}, "taylor": {}, "norm": {}}
    for layer_key, gradient in gradients.items():
        given = torch.zeros_like(gates[layer_key]) if gradient is None else gradient
        slope = given.view(len(rows), width, -1).sum(1).cpu().numpy()
        mask = job.task.kind.query_mask(batch, layer_key[0])[..., None].to(lengths[layer_key].device)
        mean = (lengths[layer_key] * mask).sum(1) / mask.sum(1)
        length = mean.view(len(rows), width, -1).mean(1).cpu().numpy()
        for number, head in enumerate(job.anatomy.attention(*layer_key).heads):
            key = Head(*layer_key, head)
            by_variable["michel"][key], by_variable["taylor"][key] = np.abs(slope[:, number]), -slope[:, number]
            by_variable["norm"][key] = length[:, number]
    return {
        name: np.moveaxis(by_head(values, job.anatomy.layout), -1, 0).astype(np.float32)
        for name, values in by_variable.items()
    }


def check_losses(job: Job, rows: np.ndarray, padding: int, lost: Tensor, what: str = "the loss") -> None:
    """An error with the example and the layer where a loss, or another objective, stopped being finite."""
    bad = (~lost.detach().isfinite()).nonzero()
    if len(bad):
        row = rows[int(bad[0])]
        _, inputs, _ = batch_of(job, np.array([row]), padding)
        raise not_finite(job.model, job.anatomy, inputs, job.examples.ids[row], f"{what} is")


def check_gradients(
    job: Job, rows: np.ndarray, gradients: Mapping[LayerKey, Tensor | None], width: int, what: str = "the loss"
) -> None:
    """An error with the example and the layer where a gradient stopped being finite: the highest, as they go down."""
    for layer_key, gradient in reversed(list(gradients.items())):
        bad = torch.empty(0) if gradient is None else (~gradient.isfinite().all(-1)).nonzero()
        if len(bad):
            row = rows[int(bad[0]) // width]
            dtype = str(job.model.dtype).removeprefix("torch.")
            where = f"{job.anatomy.layout.spell_layer(*layer_key)} and below"
            raise NotFinite(
                f"row {job.examples.ids[row]}: the gradient of {what} is not finite in {where} ({dtype}); "
                "give dtype=float32, or leave the row out"
            )


@contextmanager
def frozen(model: PreTrainedModel) -> Iterator[None]:
    """No gradients of weights: they are not asked for, and would cost a third of the time."""
    asked = [name for name, parameter in model.named_parameters() if parameter.requires_grad]

    def ask(required: bool) -> None:
        parameters = dict(model.named_parameters())  # a pass replaces those that are offloaded
        for name in asked:
            parameters[name].requires_grad_(required)

    ask(False)
    try:
        yield
    finally:
        ask(True)
