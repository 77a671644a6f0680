"""How much does the loss depend on each head and feed-forward unit? Estimates from one forward and one backward pass.

Every head's output, or unit, is multiplied by a gate of 1, one gate for each example. The gradient of an example's loss
in its gate is Att_h(x) . dL/dAtt_h(x), so one pass gives it for every head, unit and example, and any batch gives the
same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.job import Data, Job, prepare_job
from headcount.choosing.estimators import SAID, SCHEMAS, UNIT_SCHEMAS, VARIABLES, summarise_importance
from headcount.core.heads import Head
from headcount.core.options import belongs_to, one_of
from headcount.core.renamed import renamed
from headcount.core.results import UNIT_DIMS, ArrayPlan, by_head, head_coords
from headcount.core.units import SUFFIX, WHATS
from headcount.core.writers import writes_study
from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.compute import Compute, check_compute
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import Batched, tick
from headcount.errors import InvalidOption, NotFinite
from headcount.measures.results import coordinates, plan_values
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import find_origin
from headcount.trace.at_once import batches_at_once, bytes_per_token
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.modes import evaluating
from headcount.trace.not_finite import not_finite
from headcount.trace.precision import wide, widened
from headcount.trace.session import check_untouched, session
from headcount.trace.slopes import GateOfOne

UNIT, GPU_UNIT = 64, 1024
CPU_TOKENS, GPU_TOKENS = 1024, 32768
UNIT_VALUES = "values_unit_taylor"


@renamed(batch_tokens="in compute=Compute(...)")
@takes_compiled
@takes_engine
@writes_study("out")
def importance(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    what: str = "heads",
    own_labels: bool = False,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The importance of every head for a task, as a Dataset with dims (stack, layer, head).

    `michel`, `taylor`, `gate`, `fisher`, `norm` and some of them `..._normed`, with intervals over the examples, and
    `values_...`, the value for each example. `data` and `task` as for `sweep`. `what`: "heads", "units" (of the
    feed-forward layers: `unit_fisher`, `unit_michel` and `unit_taylor` with dims (stack, layer, unit), and
    `values_unit_taylor`), or "both", in the same pass. `own_labels`: the loss is that of labels which the model
    itself gives, drawn from its predictions (of a regression: the slopes are those of the prediction), not of those in
    the data; a text that is its own label stays it. `out`: a study folder; the same call goes on where it stopped.
    `compute`: how it runs; a shard whose other parts are not done yet gives what is there, without means.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    one_of("what", what, WHATS)
    compute, part = check_compute(compute, out)
    check_numbers(seed=seed, limit=limit, max_length=max_length, batch_tokens=compute.batch_tokens)
    belongs_to("name", name, "out", out)
    if out is not None:
        check_untouched(model)
    job = prepare_job(model, tokenizer, data, task, "zero", None, limit, seed, max_length)
    layout = job.anatomy.layout
    if what != "heads":
        job.anatomy.units.check()
    if own_labels and not job.task.kind.own_answers:
        raise InvalidOption(
            f"got own_labels=True for {job.task.kind.name}, whose labels cannot be drawn from the model's predictions; "
            "leave it out"
        )
    order = by_length(job.encodings.lengths)
    ids = np.asarray(job.examples.ids)[order]
    cuda = input_device(model).type == "cuda"
    size = GPU_UNIT if cuda else UNIT
    units = [(start, min(start + size, len(order))) for start in range(0, len(order), size)]
    coords = coordinates(layout, ids, {} if what == "heads" else {"unit": np.arange(_width(job))})
    if what == "units":
        del coords["head"]
    arrays: dict[str, ArrayPlan] = {} if what == "units" else plan_values(VARIABLES, coords, SCHEMAS)
    if what != "heads":
        dims = ("example", *UNIT_DIMS)
        shape = tuple(len(coords[dim][1]) for dim in dims)
        arrays[UNIT_VALUES] = ArrayPlan(dims, shape, "float32", UNIT_SCHEMAS["unit_taylor"].attributes())
    asked = {**({} if what == "heads" else {"what": what}), **({} if not own_labels else {"labels": "the model's own"})}
    run = Run(
        group_name("pruning/importance", name),
        find_origin(model, job.fingerprint, seed),
        {"task": job.task.name, "limit": limit, "max_length": job.encodings.limit} | asked,
        SAID | job.attributes | asked,
        partial(summarise_importance, seed),
        arrays,
        coords,
        units,
    )
    ledger = Ledger([run], out, part, progress)
    padding = padding_of(tokenizer)
    passes = Passes(job, padding, what, seed if own_labels else None)
    tokens = compute.batch_tokens or (GPU_TOKENS if cuda else CPU_TOKENS)

    def split(unit: Unit) -> list[np.ndarray]:
        rows = order[unit.start : unit.stop]
        return [rows[first:last] for first, last in plan_batches(job.encodings.lengths[rows], tokens)]

    def run_batch(rows: np.ndarray) -> Arrays:
        values = passes.run(rows)
        tick(len(rows))
        return values

    def join(unit: Unit, parts: list[Arrays]) -> dict[str, Arrays]:
        return {run.group: {key: np.concatenate([part[key] for part in parts]) for key in arrays}}

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


def _width(job: Job) -> int:
    """The size of the unit axis."""
    return max(map(job.anatomy.units.width, job.anatomy.units.stacks))


@dataclass(frozen=True)
class Passes:
    """One forward and one backward pass over some examples at a time."""

    job: Job
    padding: int
    what: str
    own_labels: int | None
    """The seed of labels that the model itself gives; None for the labels of the data."""

    def run(self, rows: np.ndarray) -> Arrays:
        """[example, stack, layer, head or unit] of every array for some examples."""
        job = self.job
        batch, inputs, labels = batch_of(job, rows, self.padding)
        # The rows inside the layers: a multiple choice is several of them.
        width = batch["input_ids"].shape[1] if batch["input_ids"].ndim == 3 else 1
        gates: dict[LayerKey, Tensor] = {}
        lengths: dict[LayerKey, Tensor] = {}
        for block in job.anatomy.blocks():
            if self.what in ("both", "units" if block.layer_key[0].endswith(SUFFIX) else "heads"):
                shape = (len(rows) * width, block.count)
                gates[block.layer_key] = torch.ones(
                    shape, device=input_device(job.model), dtype=wide(job.model.dtype), requires_grad=True
                )

        def measure(run: LayerRun) -> None:
            lengths[run.layer_key] = widened(run.outputs.detach()).norm(dim=-1)

        edits = {key: GateOfOne(tensor) for key, tensor in gates.items()}
        observers = {key: measure for key in gates if not key[0].endswith(SUFFIX)}
        with torch.enable_grad(), session(job.model, edits, observers, purpose="importance", outputs_only=True):
            result = job.model(**inputs)
            lost = job.task.kind.losses(result, self._labels(result, labels, rows))
        check_losses(job, rows, self.padding, lost)
        found = torch.autograd.grad(lost.sum(), list(gates.values()), allow_unused=True)
        gradients: dict[LayerKey, Tensor | None] = dict(zip(gates, found, strict=True))
        check_gradients(job, rows, gradients, width)
        slopes = {}
        for key, gradient in gradients.items():
            given = torch.zeros_like(gates[key]) if gradient is None else gradient
            slopes[key] = given.view(len(rows), width, -1).sum(1).cpu().numpy()
        arrays = {} if self.what == "units" else self._by_head(slopes, lengths, batch, width)
        return arrays if self.what == "heads" else arrays | {UNIT_VALUES: self._by_unit(slopes)}

    def _labels(self, result: Any, labels: Tensor, rows: np.ndarray) -> Tensor:
        if self.own_labels is None:
            return labels
        ids = [crc32(str(self.job.examples.ids[row]).encode()) for row in rows]
        draws = [np.random.default_rng([self.own_labels, number]) for number in ids]
        return self.job.task.kind.own_labels(result, labels, draws)

    def _by_head(
        self, slopes: dict[LayerKey, np.ndarray], lengths: dict[LayerKey, Tensor], batch: dict[str, Tensor], width: int
    ) -> Arrays:
        job = self.job
        by_variable: dict[str, dict[Any, Any]] = {"michel": {}, "taylor": {}, "norm": {}}
        for layer_key, length in lengths.items():
            slope = slopes[layer_key]
            mask = job.task.kind.query_mask(batch, layer_key[0])[..., None].to(length.device)
            # A row of padding, which fills up an example with fewer texts, has no tokens.
            counts = mask.sum(1)
            mean = (length * mask).sum(1) / counts.clamp(min=1)
            rows = (counts > 0).view(len(slope), width, -1).sum(1)
            means = (mean.view(len(slope), width, -1).sum(1) / rows).cpu().numpy()
            for number, head in enumerate(job.anatomy.attention(*layer_key).heads):
                key = Head(*layer_key, head)
                by_variable["michel"][key], by_variable["taylor"][key] = np.abs(slope[:, number]), -slope[:, number]
                by_variable["norm"][key] = means[:, number]
        return {
            f"values_{name}": np.moveaxis(by_head(values, job.anatomy.layout), -1, 0).astype(np.float32)
            for name, values in by_variable.items()
        }

    def _by_unit(self, slopes: dict[LayerKey, np.ndarray]) -> np.ndarray:
        anatomy = self.job.anatomy
        coords = head_coords(anatomy.layout, heads=False)
        examples = len(next(iter(slopes.values())))
        found = np.full((examples, *map(len, coords.values()), _width(self.job)), np.nan, np.float32)
        for (stack, layer), values in slopes.items():
            if stack.endswith(SUFFIX):
                name = stack.removesuffix(SUFFIX)
                units = list(anatomy.feed_forward(name, layer).units)
                found[:, coords["stack"].index(name), layer, units] = -values
        return found


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
            where = f"{job.anatomy.layout.spell_layer(layer_key[0].removesuffix(SUFFIX), layer_key[1])} and below"
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
