"""The score of a task without each head, each layer, all heads of a layer but one, or any set of heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr
from transformers import GenerationConfig, PreTrainedModel

from headcount.ablation.budget import Budget, parse_memory, pays_to_compile, plan_budget
from headcount.ablation.choices import AtPositions, By, Choices, Every, choose_head_sets
from headcount.ablation.donors import Donor, patch_donor, position_names, resample_donor, vector_donor
from headcount.ablation.estimated import check_estimates
from headcount.ablation.evidence import which_test
from headcount.ablation.hows import FunctionVector, How, Means, Patch, Resample, Spec, find_how, how_options, spell_how
from headcount.ablation.job import Data, Job, prepare_job, reference_means
from headcount.ablation.pair_summary import check_pair_metric, describe_pairs, which_pair_test
from headcount.ablation.path_choices import Paths, choose_paths
from headcount.ablation.plan import plan_sweep, plan_units, widest_group
from headcount.ablation.racing import Race, check_race
from headcount.ablation.results import arrange_outputs, fixed_arrays, plan_arrays, summarise_arrays
from headcount.ablation.runner import Outcome, Runner, join_batches
from headcount.core.options import belongs_to, without_effect
from headcount.core.provenance import fingerprint
from headcount.core.renamed import renamed
from headcount.core.writers import writes_study
from headcount.data.batches import by_length, collate
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.in_memory import name_of
from headcount.data.kinds.language import Language
from headcount.data.kinds.metrics import Metric
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.compute import Compute, check_compute
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import Batched
from headcount.errors import InvalidOption
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device, is_dispatched
from headcount.models.fingerprint import find_origin
from headcount.models.longest import longest_positions
from headcount.trace.late_logits import LateLogits, find_late_logits
from headcount.trace.modes import evaluating
from headcount.trace.session import check_untouched

MOST_TOKENS = 128
"""Tokens that are generated at most."""


@renamed(
    **dict.fromkeys(("batch_tokens", "memory", "compiled", "shard"), "in compute=Compute(...)"),
    sets="by=: a list of sets of heads, or RandomSets(draws, size)",
    stack="in by=Every(what, stack) or RandomSets(draws, size, stack)",
    **dict.fromkeys(("draws", "size"), "by=RandomSets(draws, size)"),
    beams='generate={"num_beams": ...}',
    max_new_tokens='generate={"max_new_tokens": ...}',
)
@takes_compiled
@takes_engine
@writes_study("out")
def sweep(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    by: By | Paths = "head",
    how: How = "zero",
    metric: str | Callable[[Any, Any], float] | None = None,
    reference: Data | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    texts: bool = True,
    untrained: bool = False,
    compute: Compute | None = None,
    generate: Mapping[str, Any] | None = None,
    stop_when: float | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The scores of a task with heads left out, with statistics, as a Dataset with dims (stack, layer, head).

    `data`: a GLUE task's name (from the hub), a file or folder, or a data frame, and then `task` says what it is; or
    synthetic texts such as `synthetic:repeat,length=50` or `Synthetic("repeat", length=50)`, made for the tokenizer
    from the seed, whose completions are scored unless `task` says otherwise. `by`: what is left out at a time: `head`,
    `layer` or `all-but-one` (all other heads of the layer gone), of one stack with `Every("head", stack="cross")`; or
    sets of heads, as a list (`["L3H7, L5", "L2"]`) or `RandomSets(draws, size)`; or the heads that `headcount.screen`
    selects; with a patch also `position` (each head at each position); or pairs of heads, `Pairs(among="L3H7, L5")`, or
    those that `screen_pairs` selects. `how`: the replacement for a head's output: `zero`, `uniform`, `mean` (over
    `reference=`, data like `data`; `Means(by="position")` at each position), `patch` (what the head does on the other
    input of a pair; `Patch(part, direction, positions, align)`) or `resample` (its output on another example,
    `Resample(draws)`). `metric`: a name, or a function of predictions and labels. `out`: a study folder, written as the
    sweep runs; the same call resumes. `texts`: keep the texts there. `untrained`: a classifier that was never trained
    will do. `compute`: how it runs. `generate`: where texts are generated, options of transformers' `generate`, such as
    {"num_beams": 4, "max_new_tokens": 64} (1 and 128 by default). `stop_when`: a margin, such as 0.002, for a race:
    examples come in rounds, in random order, and a head runs no further once it is settled whether its change on all
    examples lies beyond the margin or within it.

    A patch needs a second input for each example, in the column `counterpart` or the one that `find_task` names; its
    metric is by default the difference of the logits of the right and the wrong answer (column `wrong`), or the right
    one's log-probability. Its Dataset also holds the scores of both inputs, `clean` and `corrupted`, and the `share` of
    their difference that each head brings.

    The Dataset holds `score`, `delta`, `low`, `high`, `p`, `q` of each choice, the baseline and what else
    `headcount.ablation.summary.summarise_sweep` computes, and the outputs of every variant for every example.
    That of pairs holds `interaction`, `joint` and what else `headcount.ablation.pair_summary.summarise_pairs` computes.
    That of a race holds `decision`, `examples_run` and what else `headcount.ablation.racing.Race.summarise` computes.
    A sharded sweep whose other parts are not done yet gives what is there, without statistics.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    compute, part = check_compute(compute, out, swept=True)
    check_numbers(seed=seed, limit=limit, max_length=max_length, batch_tokens=compute.batch_tokens)
    belongs_to("name", name, "out", out)
    spec = find_how(how)
    if not isinstance(spec, Means):
        without_effect("reference", reference, f"{spec.name} needs no mean outputs, as mean does")
    if out is not None:
        check_untouched(model)
    job = prepare_job(model, tokenizer, data, task, spec, metric, limit, seed, max_length, untrained)
    if isinstance(by, Paths):
        choices: Choices = choose_paths(job.anatomy.layout, by)
        if job.generated:
            raise InvalidOption(
                f"got the metric {job.metric_name!r} for paths: generated texts cannot be replayed; take another, such "
                "as loss"
            )
    else:
        choices = choose_head_sets(job.anatomy.layout, _at_positions(by, job), seed)
    if choices.paired is not None:
        check_pair_metric(job.metric)
    generated = job.generated
    check_estimates(choices, spec, job.metric_name)
    check_other_input(spec, job, choices, stop_when)
    job, donor = _find_donor(job, spec, choices, tokenizer, seed)
    if isinstance(job.metric, Metric):
        job.metric.require()
    if generated:
        without_effect(
            "compiled", compute.compiled, f"{job.metric_name} is of texts that are generated, by uncompiled layers"
        )
    if is_dispatched(model):
        without_effect("compiled", compute.compiled, "the layers of a model with device_map= run uncompiled")
    wanted = check_generate(generate, job.metric)
    generation = _generation(job, wanted) if generated else None
    check_race(stop_when, choices, compute.shard)
    race = None if stop_when is None else Race.plan(choices, job, stop_when, seed)
    order = by_length(job.encodings.lengths) if race is None else race.order
    lengths = job.encodings.lengths[order]
    late = _late_logits(job, tokenizer) if not generated else None

    def find_budget(swept: Choices) -> Budget:
        over_vocabulary = job.task.kind.over_vocabulary and not generated and late is None
        widest, longest = widest_group(swept, not generated), int(lengths.max())
        memory, tokens = parse_memory(compute.memory), compute.batch_tokens
        nested = swept.paired is not None and not generated
        return plan_budget(model, job.anatomy, over_vocabulary, widest, memory, tokens, longest, nested)

    means = None
    if isinstance(spec, Means):
        if reference is None:
            raise InvalidOption("how='mean' needs reference=: data like that of the sweep, for the mean outputs")
        means = reference_means(job, tokenizer, reference, seed, spec.by == "position")
    options: dict[str, Any] = {
        "by": choices.by,
        "how": spec.name,
        **how_options(spec),
        "task": job.task.name,
        "metric": job.metric_name,
        "stack": choices.stack or "all",
        "sets": fingerprint(choices.identity),
        "limit": limit,
        "max_length": job.encodings.limit,
        "texts": texts,
        "generate": generation,
        "reference": None if means is None else fingerprint([tensor.numpy().tobytes() for tensor in means.values()]),
    }
    if donor is not None:
        options["given"] = fingerprint(donor.identity)
    screened, paired = choices.screened, choices.paired
    if screened is not None:
        heads = [sorted(map(str, each)) for each in (screened.top, screened.control)]
        options["screen"] = fingerprint([screened.estimate, *heads])
    if paired is not None:
        options["tests"] = paired.tests
    if race is not None:
        options["stop_when"] = race.margin
    units = plan_units(lengths, find_budget(choices).tokens) if race is None else race.units
    attributes = {
        "by": choices.by,
        "how": spec.name,
        **how_options(spec),
        "task": job.task.name,
        "kind": job.task.kind.name,
        "metric": job.metric_name,
        "higher_is_better": job.higher_is_better,
        "test": which_pair_test(job.metric)
        if choices.paired is not None
        else which_test(job.metric, 1 if donor is None else donor.draws),
        "data": name_of(data),
        "cut": job.encodings.cut,
        ATTRIBUTE: dict(job.examples.blank),
        "notes": list(job.examples.notes),
        "labels": _label_names(model, job.task),
        "units": [list(unit) for unit in units],
    }
    if screened is not None:
        attributes["screen"] = {
            "estimate": screened.estimate,
            "top": len(screened.top),
            "control": len(screened.control),
            "of": screened.of,
        }
    if paired is not None:
        attributes |= describe_pairs(paired)
    if race is not None:
        attributes |= race.attributes
    some = screened is not None or (paired is not None and paired.screened is not None)
    special = "-screened" if some else "-raced" if race is not None else ""
    run = Run(
        group_name(f"{choices.group}{spell_how(spec)}{special}", name),
        find_origin(model, job.fingerprint, seed),
        options,
        attributes,
        partial(summarise_arrays, choices, job, seed, spec) if race is None else race.summarise,
        plan_arrays(choices, job, donor) | ({} if race is None else race.plan_arrays()),
        fixed_arrays(choices, job, order, texts),
        units,
    )
    ledger = Ledger([run], out, part, progress)

    compiled = compute.compiled
    if compiled is None:
        compiled = not generated and pays_to_compile(model, int(lengths.sum()), len(choices.sets))

    def run_only(numbers: list[int]) -> Batched:
        """The work on a unit in which only these choices are run."""
        swept = choices.only(numbers)
        budget = find_budget(swept)
        runner = Runner(
            model,
            tokenizer,
            job.anatomy,
            swept,
            plan_sweep(swept, lengths, budget.tokens, budget.width, ledger.units, not generated),
            job.task.kind,
            job.encodings,
            order,
            spec.name,
            means,
            donor,
            compiled,
            generation,
            job.examples.ids,
            late,
        )

        def join(unit: Unit, parts: list[Outcome]) -> dict[str, Arrays]:
            marks = {} if race is None else race.mark(numbers, unit.stop - unit.start)
            return {run.group: arrange_outputs(choices, join_batches(parts), numbers) | marks}

        # Layers are compiled for one replay, and each worker has its own.
        return Batched(lambda unit: runner.split(unit.number), runner.run, join, 1 if compiled else budget.at_once)

    with evaluating(model):
        if race is not None:
            runners = race.runners
            return ledger.perform_rounds(race.ends, lambda number, saved: run_only(runners(number, saved)))
        return ledger.perform(run_only(list(range(len(choices.sets)))))[0]


def _at_positions(by: By, job: Job) -> By:
    """`by="position"` with the positions of the examples."""
    wanted = Every(by) if isinstance(by, str) else by
    if not isinstance(wanted, Every) or wanted.what != "position":
        return by
    if job.counterparts is None:
        raise InvalidOption("got by='position'; expected how='patch' with it, which replaces heads at single positions")
    return AtPositions(tuple(position_names(job)), wanted.stack)


def check_other_input(spec: Spec, job: Job, choices: Choices, stop_when: float | None) -> None:
    """Refuse what does not go together with replacements from another input."""
    if not isinstance(spec, Patch | Resample):
        return
    without_effect("stop_when", stop_when, f"a race is not run with how={spec.name!r}")
    if job.generated:
        raise InvalidOption(
            f"got the metric {job.metric_name!r} with how={spec.name!r}: the positions of generated texts cannot be "
            "matched; take another metric, such as log_probability or loss"
        )
    if isinstance(spec, Patch) and choices.paired is not None:
        raise InvalidOption(
            "got how='patch' and pairs of heads: an interaction is about what is lost without both; take another how="
        )
    if isinstance(spec, Resample) and spec.draws > 1 and choices.paired is not None:
        raise InvalidOption(f"got draws={spec.draws} and pairs of heads; expected one draw with by=Pairs(...)")
    if isinstance(spec, Resample) and spec.draws > 1 and not isinstance(job.metric, Metric):
        raise InvalidOption("got a function as metric= and several draws; expected the name of a metric, or one draw")


def _find_donor(job: Job, spec: Spec, choices: Choices, tokenizer: Any, seed: int) -> tuple[Job, Donor | None]:
    """The job on the input that is run, and where the outputs of the other input come from."""
    if isinstance(spec, FunctionVector):
        return vector_donor(job, spec, tokenizer.pad_token_id or 0, seed)
    if isinstance(spec, Patch):
        return patch_donor(job, spec, choices)
    return job, resample_donor(job, spec, seed) if isinstance(spec, Resample) else None


def _late_logits(job: Job, tokenizer: Any) -> LateLogits | None:
    """Of a language model, proved on its shortest text, whose logits can be computed after the pass."""
    if not isinstance(job.task.kind, Language):
        return None
    batch = collate(
        [job.encodings.rows[int(job.encodings.lengths.argmin())]], tokenizer.pad_token_id or 0, input_device(job.model)
    )
    with evaluating(job.model):
        return find_late_logits(job.model, job.task.kind.inputs(job.model, batch))


def is_generated(metric: Any) -> bool:
    """Whether a metric is of texts that the model generates."""
    return isinstance(metric, Metric) and metric.generated


def check_generate(generate: Mapping[str, Any] | None, metric: Any) -> dict[str, Any]:
    """Options of transformers' `generate`, with their names and numbers checked; nothing may be drawn at random."""
    given = {key: value for key, value in (generate or {}).items() if value is not None}
    unknown = [key for key in given if not hasattr(GenerationConfig(), key)]
    if unknown:
        raise InvalidOption(f"got {unknown[0]!r} in generate=; expected options of transformers' GenerationConfig")
    if given.get("do_sample"):
        raise InvalidOption("got do_sample in generate=; expected none: a score must not depend on what is drawn")
    check_numbers(num_beams=given.get("num_beams"), max_new_tokens=given.get("max_new_tokens"))
    for option, value in () if is_generated(metric) else given.items():
        name = getattr(metric, "name", getattr(metric, "__name__", "this metric"))
        without_effect(option, value, f"no texts are generated for {name}")
    return given


def _generation(job: Job, generate: dict[str, Any]) -> dict[str, Any]:
    wanted = generate.get("max_new_tokens", MOST_TOKENS)
    most = min(wanted, (longest_positions(job.model) or wanted + 2) - 2)
    return {"num_beams": 1, **generate, "max_new_tokens": most, "do_sample": False}


def _label_names(model: PreTrainedModel, task: Task) -> list[str]:
    if not task.kind.named_classes:
        return []
    return [str(model.config.id2label[number]) for number in sorted(model.config.id2label)]
