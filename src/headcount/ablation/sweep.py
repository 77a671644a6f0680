"""The score of a task without each head, each layer, all heads of a layer but one, or any set of heads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.budget import parse_memory, plan_budget
from headcount.ablation.evidence import which_test
from headcount.ablation.job import Data, Job, prepare_job, reference_means
from headcount.ablation.plan import choose_head_sets, plan_sweep, plan_units, widest_group
from headcount.ablation.replacements import REPLACEMENTS, check_how
from headcount.ablation.results import arrange_outputs, fixed_arrays, plan_arrays, summarise_arrays
from headcount.ablation.runner import Runner, join_batches
from headcount.core.options import belongs_to, without_effect
from headcount.core.provenance import fingerprint
from headcount.core.writers import writes_study
from headcount.data.batches import by_length
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.kinds.metrics import Metric
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.executors import Shard
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Run, group_name
from headcount.engines.workers import Batched
from headcount.errors import InvalidOption
from headcount.models.compiled import takes_compiled
from headcount.models.fingerprint import find_origin
from headcount.models.longest import longest_positions
from headcount.trace.modes import evaluating
from headcount.trace.session import check_untouched

MOST_TOKENS = 128
"""Tokens that are generated at most."""


@takes_compiled
@writes_study("out")
def sweep(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    by: str | None = None,
    how: str = "uniform",
    metric: str | Callable[[Any, Any], float] | None = None,
    stack: str | None = None,
    sets: Iterable[Any] | None = None,
    draws: int | None = None,
    size: int | None = None,
    reference: Data | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    texts: bool = True,
    shard: str | None = None,
    memory: str | int | None = None,
    batch_tokens: int | None = None,
    compiled: bool = False,
    untrained: bool = False,
    beams: int | None = None,
    max_new_tokens: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The scores of a task with heads left out, with statistics, as a Dataset with dims (stack, layer, head).

    `data`: a GLUE task's name (from the hub), a file or folder, or a data frame, and then `task` says what it
    is. `by`: `head` (the default), `layer`, `all-but-one` (all other heads of the layer gone), or `sets=`, or `draws=`
    random sets of `size=` heads. `how`: what stands in for a head (`reference=`, data like `data`, for `mean`).
    `metric`: a name, or a function of predictions and labels. `out`: a study folder, written as the sweep runs;
    the same call goes on where it stopped. `shard`: "i/n", the i-th part of the work into the same study. `beams` (1)
    and `max_new_tokens` (128): where texts are generated.

    The Dataset holds `score`, `delta`, `low`, `high`, `p`, `q` of each choice, the baseline and what else
    `headcount.ablation.summary.summarise_sweep` computes, and the outputs of every variant for every example.
    A sharded sweep whose other parts are not done yet gives what is there, without statistics.
    """
    check_numbers(
        seed=seed,
        limit=limit,
        max_length=max_length,
        batch_tokens=batch_tokens,
        beams=beams,
        max_new_tokens=max_new_tokens,
    )
    part = None if shard is None else Shard.parse(shard)
    for option, given in (("shard", shard), ("name", name)):
        belongs_to(option, given, "out", out)
    if not REPLACEMENTS[check_how(how)].needs_reference:
        without_effect("reference", reference, f"{how} needs no mean outputs, as mean does")
    if out is not None:
        check_untouched(model)
    job = prepare_job(model, tokenizer, data, task, how, metric, limit, seed, max_length, untrained)
    choices = choose_head_sets(job.anatomy.layout, by, stack, sets, draws, size, seed)
    generated = job.generated
    if isinstance(job.metric, Metric):
        job.metric.require()
    if generated:
        without_effect("compiled", compiled, f"{job.metric_name} is of texts that are generated, by uncompiled layers")
    generate = _generation(job, beams, max_new_tokens) if generated else None
    for number in () if generated else (("beams", beams), ("max_new_tokens", max_new_tokens)):
        without_effect(*number, f"no texts are generated for {job.metric_name}")
    order = by_length(job.encodings.lengths)
    lengths = job.encodings.lengths[order]
    budget = plan_budget(
        model,
        job.anatomy,
        job.task.kind.over_vocabulary and not generated,
        widest_group(choices, not generated),
        parse_memory(memory),
        batch_tokens,
        int(lengths[0]),
    )
    means = None
    if REPLACEMENTS[how].needs_reference:
        if reference is None:
            raise InvalidOption(f"how={how!r} needs reference=: data like that of the sweep, for the mean outputs")
        means = reference_means(job, tokenizer, reference, seed)
    options = {
        "by": choices.by,
        "how": how,
        "task": job.task.name,
        "metric": job.metric_name,
        "stack": stack or "all",
        "sets": fingerprint([str(one) for one in choices.sets]),
        "limit": limit,
        "max_length": job.encodings.limit,
        "texts": texts,
        "generate": generate,
        "reference": None if means is None else fingerprint([tensor.numpy().tobytes() for tensor in means.values()]),
    }
    units = plan_units(lengths, budget.tokens)
    attributes = {
        "by": choices.by,
        "how": how,
        "task": job.task.name,
        "kind": job.task.kind.name,
        "metric": job.metric_name,
        "higher_is_better": job.higher_is_better,
        "test": which_test(job.metric),
        "data": str(data)[:200] if not isinstance(data, pd.DataFrame) else "data frame",
        "cut": job.encodings.cut,
        ATTRIBUTE: dict(job.examples.blank),
        "notes": list(job.examples.notes),
        "labels": _label_names(model, job.task),
        "units": [list(unit) for unit in units],
    }
    run = Run(
        group_name(f"sweep/{choices.by}-{how}", name),
        find_origin(model, job.fingerprint, seed),
        options,
        attributes,
        partial(summarise_arrays, choices, job, seed),
        plan_arrays(choices, job),
        fixed_arrays(choices, job, order, texts),
        units,
    )
    ledger = Ledger([run], out, part, progress)
    plan = plan_sweep(choices, lengths, budget.tokens, budget.width, ledger.units, not generated)
    runner = Runner(
        model,
        tokenizer,
        job.anatomy,
        choices,
        plan,
        job.task.kind,
        job.encodings,
        order,
        how,
        means,
        compiled,
        generate,
        job.examples.ids,
        ledger.tick,
    )

    work = Batched(
        lambda unit: runner.split(unit.number),
        runner.run,
        lambda _, parts: {run.group: arrange_outputs(choices, *join_batches(parts))},
        1 if compiled else budget.at_once,  # layers are compiled for one replay, and each worker has its own
    )
    with evaluating(model):
        return ledger.perform(work)[0]


def _generation(job: Job, beams: int | None, tokens: int | None) -> dict[str, Any]:
    wanted = tokens or MOST_TOKENS
    most = min(wanted, (longest_positions(job.model) or wanted + 2) - 2)
    return {"num_beams": beams or 1, "max_new_tokens": most, "do_sample": False}


def _label_names(model: PreTrainedModel, task: Task) -> list[str]:
    if not task.kind.named_classes:
        return []
    return [str(model.config.id2label[number]) for number in sorted(model.config.id2label)]
