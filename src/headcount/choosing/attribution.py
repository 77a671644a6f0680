"""What would patching a head do to the metric? An estimate for all heads and positions from one backward pass.

A patch replaces a head's output o on one input by its output o' on the other. To first order that changes the metric m
by (o' - o) . dm/do, so two forward passes and one backward pass estimate all patches at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.choices import AtPositions, Choices, Every, choose_head_sets
from headcount.ablation.donors import Donor, patch_donor, position_names
from headcount.ablation.hows import ALL, How, Patch, find_how, how_options, spell_how
from headcount.ablation.job import Data, Job, prepare_job
from headcount.choosing.importance import (
    CPU_TOKENS,
    GPU_TOKENS,
    GPU_UNIT,
    batch_of,
    check_gradients,
    check_losses,
    frozen,
    padding_of,
)
from headcount.core.heads import Head
from headcount.core.options import belongs_to, one_of, without_effect
from headcount.core.provenance import fingerprint
from headcount.core.results import ArrayPlan, Labelled, by_head, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.core.statistics import mean_interval
from headcount.core.sweep_schemas import PATCHED
from headcount.core.writers import writes_study
from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.in_memory import name_of
from headcount.data.kinds.metrics import DIFFERENCE
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.compute import Compute, check_compute
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import Batched, tick
from headcount.errors import InvalidOption
from headcount.measures.results import Variables, coordinates, mean_values, plan_values
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import find_origin
from headcount.trace.at_once import batches_at_once, bytes_per_token
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.gradients import Differentiable, output_gradients
from headcount.trace.modes import evaluating
from headcount.trace.parts import keep_part
from headcount.trace.precision import widened
from headcount.trace.session import check_untouched, session

UNIT = 64
"""Examples of a unit on a CPU."""
METRICS = (DIFFERENCE, "log_probability")
"""The metrics that have a gradient and are means over the examples."""
PAPER = "Nanda 2023, attribution patching"


@takes_compiled
@takes_engine
@writes_study("out")
def attribution(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    by: str = "head",
    how: How = "patch",
    stack: str | None = None,
    metric: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """An estimate of what patching each head would do to the metric, as a Dataset with dims (stack, layer, head).

    `data`, `task` and `how` as for `sweep(how=Patch(...))`: pairs of inputs, in either direction, at all positions or
    some; only the output of a head is patched (`part="output"`). `attribution` is the expected change of the metric,
    with its interval over the examples and `values_attribution`, the value for each example. `by="position"` adds
    `at_position` [stack, layer, head, position]: each head at each position (named spans, or single tokens of texts of
    one length). `metric`: `logit_difference` or `log_probability`; as for a patch, the first if there are wrong
    answers. `clean` and `corrupted` are the scores of both inputs. `out`: a study folder; the same call resumes.

    It is exact where the metric is linear in a head's output, and fails where a head is saturated: run the exact patch
    on the heads that matter (`headcount.screen(estimate="attribution")`), which says how well the two agree.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    compute, part = check_compute(compute, out)
    check_numbers(seed=seed, limit=limit, max_length=max_length, batch_tokens=compute.batch_tokens)
    belongs_to("name", name, "out", out)
    one_of("by", by, ("head", "position"))
    patch = check_patch(how)
    if by == "position":
        without_effect("positions", None if patch.positions == ALL else patch.positions, "by='position' takes each")
    if out is not None:
        check_untouched(model)
    job = prepare_job(model, tokenizer, data, task, patch, metric, limit, seed, max_length)
    if job.metric_name not in METRICS:
        raise InvalidOption(
            f"got the metric {job.metric_name!r}; attribution needs one with a gradient: {' or '.join(METRICS)}"
        )
    layout = job.anatomy.layout
    wanted = Every("head", stack) if by == "head" else AtPositions(tuple(position_names(job)), stack)
    choices = choose_head_sets(layout, wanted, seed)
    job, donor = patch_donor(job, patch, choices)
    estimator = Estimator(job, donor, choices, padding_of(tokenizer))
    order = by_length(job.encodings.lengths)
    cuda = input_device(model).type == "cuda"
    size = GPU_UNIT if cuda else UNIT
    coords = coordinates(layout, np.asarray(job.examples.ids)[order], estimator.coords)
    schemas = attribution_schemas(job.metric_name, patch.direction)
    run = Run(
        group_name(f"patching/attribution{spell_how(patch).removeprefix(patch.name)}", name),
        find_origin(model, job.fingerprint, seed),
        {
            **how_options(patch),
            "by": by,
            "task": job.task.name,
            "metric": job.metric_name,
            "stack": stack or "all",
            "limit": limit,
            "max_length": job.encodings.limit,
            "given": fingerprint(donor.identity),
        },
        {
            "group": "patching",
            "measure": "attribution",
            "summary": "the change of the metric that patching the head would make, to first order",
            "paper": PAPER,
            "metric": job.metric_name,
            "data": name_of(data),
            **how_options(patch),
            **job.attributes,
        },
        partial(summarise_attribution, estimator.variables, schemas, patch.direction, seed),
        plan_values(estimator.variables, coords, schemas)
        | {f"values_{side}": ArrayPlan(("example",), (len(order),), "float64") for side in ("ran", "given")},
        coords,
        [(start, min(start + size, len(order))) for start in range(0, len(order), size)],
    )
    ledger = Ledger([run], out, part, progress)
    tokens = compute.batch_tokens or (GPU_TOKENS if cuda else CPU_TOKENS)

    def split(unit: Unit) -> list[np.ndarray]:
        rows = order[unit.start : unit.stop]
        return [rows[first:last] for first, last in plan_batches(job.encodings.lengths[rows], tokens)]

    def run_batch(rows: np.ndarray) -> Arrays:
        values = estimator.run(rows)
        tick(len(rows))
        return values

    def join(unit: Unit, parts: list[Arrays]) -> dict[str, Arrays]:
        return {run.group: {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}}

    # A backward pass needs what every layer has computed, and there are the outputs on the other input.
    held = bytes_per_token(model, model.get_output_embeddings() is not None, sum(map(layout.layers, layout.stacks)))
    at_once = batches_at_once(model, max(tokens, int(job.encodings.lengths.max())) * 2 * held)
    with evaluating(model), frozen(model), torch.inference_mode(False):
        return ledger.perform(Batched(split, run_batch, join, at_once))[0]


def check_patch(how: How) -> Patch:
    """The patch that is estimated; its part must be the head's output."""
    spec = find_how(how)
    if not isinstance(spec, Patch):
        raise InvalidOption(f"got how={spec.name!r}; attribution estimates the effect of how='patch'")
    if spec.part != "output":
        raise InvalidOption(
            f"got part={spec.part!r}; attribution estimates the patch of a head's output: leave part= out, or run the "
            "exact patch"
        )
    return spec


def attribution_schemas(metric: str, direction: str) -> dict[str, Schema]:
    """By variable, what it means."""
    ran, given = ("corrupted", "clean") if direction == "denoise" else ("clean", "corrupted")
    title = f"Estimated change of {metric} on the {ran} input, with a head of the {given} one"
    estimate = Schema(title, metric, "to first order", signed=True, category=PATCHED, paper=PAPER, rank=20)
    return {
        "attribution": estimate,
        "at_position": estimate,
        "clean": Schema(f"{metric} on the clean input", metric, shown=False),
        "corrupted": Schema(f"{metric} on the corrupted input", metric, shown=False),
    }


def summarise_attribution(
    variables: Variables, schemas: dict[str, Schema], direction: str, seed: int, values: Arrays
) -> Labelled:
    """Means with intervals over the examples."""
    arrays = mean_values(variables, values, seed)
    sides = ("corrupted", "clean") if direction == "denoise" else ("clean", "corrupted")
    for side, key in zip(sides, ("ran", "given"), strict=True):
        arrays |= with_interval(side, (), mean_interval(values[f"values_{key}"], seed=seed))
    return with_schemas(arrays, schemas)


@dataclass
class Estimator:
    """Estimates the patches of all choices, batch by batch."""

    job: Job
    donor: Donor
    choices: Choices
    padding: int

    def __post_init__(self) -> None:
        self.keys: list[LayerKey] = sorted({key for heads in self.choices.sets for key in heads.by_layer()})
        self.heads = {head for heads in self.choices.sets for head in heads}
        self.always = {"use_cache": False} if "decoder" in self.job.anatomy.stacks else {}
        names = self.choices.positions
        # Of a map of heads and positions: what stands for a name, once.
        self.wheres = {} if names is None else dict(zip(names, self.donor.wheres, strict=True))

    @property
    def variables(self) -> dict[str, tuple[str, ...]]:
        return {"attribution": (), **({"at_position": ("position",)} if self.wheres else {})}

    @property
    def coords(self) -> dict[str, Any]:
        return {"position": [str(name) for name in self.wheres]} if self.wheres else {}

    def run(self, rows: np.ndarray) -> Arrays:
        """[example, stack, layer, head, ...] of every variable for some examples, and the scores of both inputs."""
        job, kind = self.job, self.job.task.kind
        batch, inputs, _ = batch_of(job, rows, self.padding)
        giving = collate(self.donor.rows(rows.tolist(), 0), self.padding, input_device(job.model))
        with torch.no_grad():
            read = kind.inputs(job.model, giving) | self.always
            result, kept = keep_part(job.model, self.keys, "output", lambda: job.model(**read))
            given = self._metric(result, giving)
        places = self.donor.positions(rows.tolist(), 0, batch["input_ids"].shape[-1])
        outputs: dict[LayerKey, Tensor] = {}

        def keep(run: LayerRun) -> None:
            outputs[run.layer_key] = run.outputs

        edits, observers = dict.fromkeys(self.keys, Differentiable()), dict.fromkeys(self.keys, keep)
        with torch.enable_grad(), session(job.model, edits, observers, purpose="attribution", outputs_only=True):
            ran = self._metric(job.model(**inputs, **self.always), batch)
        for score in (ran, given):
            check_losses(job, rows, self.padding, score, f"the {job.metric_name}")
        slopes = output_gradients(ran.sum(), outputs)
        estimates = {}
        for key, own in outputs.items():
            other = kept[key].at(places).tensor.to(own)
            # [row, position, head]: a multiple choice is several rows.
            estimates[key] = ((widened(other) - widened(own.detach())) * widened(slopes[key])).sum(-1)
        width = batch["input_ids"].shape[1] if batch["input_ids"].ndim == 3 else 1
        check_gradients(job, rows, {key: one.sum(1) for key, one in estimates.items()}, width, f"the {job.metric_name}")
        return {
            **self._by_head(estimates, rows, batch["input_ids"].shape[-1]),
            "values_ran": ran.detach().double().cpu().numpy(),
            "values_given": given.double().cpu().numpy(),
        }

    def _metric(self, result: Any, batch: dict[str, Tensor]) -> Tensor:
        kind, labels = self.job.task.kind, batch["labels"]
        if self.job.contrasts:
            return kind.logit_differences(result, labels, batch["wrong_labels"])
        return kind.log_probabilities(result, labels)

    def _by_head(self, estimates: dict[LayerKey, Tensor], rows: np.ndarray, width: int) -> Arrays:
        found: dict[str, dict[Head, np.ndarray]] = {variable: {} for variable in self.variables}
        masks = [_chosen(self.donor.mask(where, rows.tolist(), width)) for where in self.wheres.values()]
        whole = None if masks else self.donor.mask(self.donor.wheres[0], rows.tolist(), width)
        if masks and self.donor.places is not None:
            whole = torch.stack(masks).any(0)  # positions outside of spans have none on the other input
        for key, estimate in estimates.items():
            values = {"attribution": _sum(estimate, whole, len(rows))}
            if masks:
                values["at_position"] = np.stack([_sum(estimate, mask, len(rows)) for mask in masks], -1)
            for number, head in enumerate(self.job.anatomy.attention(*key).heads):
                for variable, array in values.items():
                    found[variable][Head(*key, head)] = array[:, number]
        chosen = {variable: {head: each[head] for head in self.heads} for variable, each in found.items()}
        return {
            f"values_{variable}": np.moveaxis(by_head(each, self.job.anatomy.layout), 3, 0).astype(np.float32)
            for variable, each in chosen.items()
        }


def _chosen(mask: Tensor | None) -> Tensor:
    assert mask is not None  # single positions were asked for
    return mask


def _sum(estimate: Tensor, mask: Tensor | None, examples: int) -> np.ndarray:
    """[example, head] from [row, position, head]: the sum over the positions of a mask [row, position]."""
    if mask is not None:
        estimate = estimate * mask.to(estimate.device)[:, : estimate.shape[1], None]
    return np.asarray(estimate.sum(1).view(examples, -1, estimate.shape[-1]).sum(1).cpu().numpy())
