"""The score of a task without each head, each layer, all heads of a layer but one, or any set of heads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.budget import parse_memory, plan_budget
from headcount.ablation.means import mean_outputs
from headcount.ablation.outputs import DTYPES, LANGUAGE
from headcount.ablation.plan import Choices, SweepPlan, choose, plan_sweep, plan_units, widest_group
from headcount.ablation.replacements import check_how
from headcount.ablation.runner import Arrays, Runner, forward_inputs
from headcount.ablation.summary import Summary, summarise
from headcount.core.provenance import fingerprint, versions
from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.encode import IGNORED, Encodings, encode, longest_input
from headcount.data.examples import Examples, read_examples
from headcount.data.metrics import GENERATED, Metric, find_metric
from headcount.data.tables import read_table
from headcount.data.tasks import GLUE, Task, find_task
from headcount.engines.shards import Shard, run_units
from headcount.errors import InvalidOption, ModelUnavailable
from headcount.models.anatomy import Anatomy, read_anatomy
from headcount.models.fingerprint import model_fingerprint
from headcount.models.load import NEW_WEIGHTS
from headcount.trace.modes import evaluating

Data = str | Path | pd.DataFrame
Progress = Callable[[float, float], None]
"""Called with the work that is done and all of it."""


def sweep(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    by: str = "head",
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
    beams: int = 1,
    max_new_tokens: int = 128,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The scores of a task with heads left out, with statistics, as a Dataset with dims (stack, layer, head).

    `data`: a GLUE task's name (from the hub), a file or folder, or a data frame, and then `task` says what it
    is. `by`: `head`, `layer`, `all-but-one` (all other heads of the layer gone), or `sets=`, or `draws=` random
    sets of `size=` heads. `how`: what stands in for a head (`reference=`, data like `data`, for `mean`).
    `metric`: a name, or a function of predictions and labels. `out`: a study folder, written as the sweep runs;
    the same call goes on where it stopped. `shard`: "i/n", the i-th part of the work into the same study.

    The Dataset holds `score`, `delta`, `low`, `high`, `p`, `q` of each choice, the baseline and what else
    `headcount.ablation.summary.summarise` computes, and the outputs of every variant for every example.
    A sharded sweep whose other parts are not done yet gives what is there, without statistics.
    """
    _check_numbers(
        limit=limit, max_length=max_length, batch_tokens=batch_tokens, beams=beams, max_new_tokens=max_new_tokens
    )
    if seed < 0:
        raise InvalidOption(f"got seed={seed}; expected 0 or more")
    part = Shard.parse(shard)
    if shard is not None and out is None:
        raise InvalidOption("a shard needs out=, the study folder in which the parts meet")
    job = _prepare(model, tokenizer, data, task, how, metric, limit, seed, max_length, untrained)
    choices = choose(job.anatomy.layout, by, stack, sets, draws, size, seed)
    generated = isinstance(job.metric, Metric) and job.metric.name in GENERATED
    generate = {"num_beams": beams, "max_new_tokens": max_new_tokens, "do_sample": False} if generated else None
    order = by_length(job.encodings.lengths)
    lengths = job.encodings.lengths[order]
    budget = plan_budget(
        model, job.anatomy, job.task.kind in LANGUAGE and not generated, widest_group(choices, not generated),
        parse_memory(memory), batch_tokens, int(lengths[0]),
    )  # fmt: skip
    means = None
    if how == "mean":
        if reference is None:
            raise InvalidOption("how='mean' needs reference=: data like that of the sweep, for the mean outputs")
        means = _reference_means(job, tokenizer, reference, seed)
    elif reference is not None:
        raise InvalidOption(f"reference= belongs to how='mean'; got how={how!r}")
    identity = {
        "by": choices.by, "how": how, "task": job.task.name, "metric": job.metric_name, "stack": stack or "all",
        "sets": fingerprint([str(one) for one in choices.sets]), "limit": limit, "seed": seed,
        "model": model_fingerprint(model), "data": job.fingerprint, "dtype": str(model.dtype).removeprefix("torch."),
        "max_length": job.encodings.limit, "texts": texts, "generate": generate,
        "reference": None if means is None else fingerprint([tensor.numpy().tobytes() for tensor in means.values()]),
    }  # fmt: skip
    units = plan_units(lengths, budget.tokens)
    plan = plan_sweep(choices, lengths, budget.tokens, budget.width, units, not generated)
    attributes = {
        "by": choices.by, "how": how, "task": job.task.name, "kind": job.task.kind, "metric": job.metric_name,
        "higher_is_better": job.higher_is_better, "model": _model_name(model), "data": str(data)[:200]
        if not isinstance(data, pd.DataFrame) else "data frame", "model_class": type(model).__name__,
        "cut": job.encodings.cut, "notes": list(job.examples.notes), "labels": _label_names(model, job.task),
        "device": _device(model), "versions": versions(), "units": [list(unit) for unit in units],
    }  # fmt: skip
    sink = (
        _Memory(plan, attributes)
        if out is None
        else _Folder(out, name, identity, attributes, choices, job, order, texts)
    )
    plan = plan_sweep(choices, lengths, budget.tokens, budget.width, sink.units, not generated)
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
    )
    with evaluating(model):
        _run(runner, sink, part, progress)
    return sink.finish(choices, job, order, texts, seed)


def _check_numbers(**numbers: int | None) -> None:
    for name, number in numbers.items():
        least = 8 if name == "max_length" else 1
        if number is not None and number < least:
            raise InvalidOption(f"got {name}={number}; expected at least {least}")


@dataclass
class _Job:
    """What is swept: the task, its examples as the model takes them, the metric."""

    model: PreTrainedModel
    anatomy: Anatomy
    task: Task
    examples: Examples
    encodings: Encodings
    metric: Metric | Callable[[Any, Any], float]

    @property
    def metric_name(self) -> str:
        if isinstance(self.metric, Metric):
            return self.metric.name
        code = getattr(self.metric, "__code__", None)
        mark = "" if code is None else f" ({fingerprint([code.co_code, str(code.co_consts), str(code.co_names)])[:6]})"
        return getattr(self.metric, "__name__", "custom") + mark

    @property
    def higher_is_better(self) -> bool:
        return self.metric.higher_is_better if isinstance(self.metric, Metric) else True

    @property
    def fingerprint(self) -> str:
        """Of the texts as the tokenizer encodes them, and of the labels."""
        return fingerprint([self.examples.ids, self.encodings.rows, self.examples.labels])


def _prepare(
    model: PreTrainedModel, tokenizer: Any, data: Data, task: str | Task | None, how: str, metric: Any,
    limit: int | None, seed: int, max_length: int | None, untrained: bool,
) -> _Job:  # fmt: skip
    check_how(how)
    anatomy = read_anatomy(model)
    if isinstance(data, str) and task is None:
        if data not in GLUE:
            raise InvalidOption(
                f"say what {data} is with task=: one of {', '.join(GLUE)}, or a kind such as classification"
            )
        task = data
    if task is None:
        raise InvalidOption("say what the data is with task=")
    task = find_task(task) if isinstance(task, str) else task
    table = _table(data, task)
    named = getattr(model.config, "id2label", None)
    examples = read_examples(table, task, named, limit, seed)
    check_classifier(model, task.kind, untrained)
    encodings = encode(examples, tokenizer, longest_input(model, tokenizer, max_length), seed)
    if task.kind == "token-classification":
        # What is scored is what was encoded: a word may be cut off, or give no pieces at all.
        scored = [[tag for tag in row["labels"] if tag != IGNORED] for row in encodings.rows]
        examples = replace(examples, labels=scored)
    found = metric if callable(metric) else find_metric(metric or task.metric, task.kind)
    return _Job(model, anatomy, task, examples, encodings, found)


def _table(data: Data, task: Task) -> pd.DataFrame:
    if isinstance(data, pd.DataFrame) or Path(data).exists():
        return read_table(data)
    if isinstance(data, str) and (data in GLUE or data.startswith("hub:")):
        from headcount.data.hub import read_hub

        if data.startswith("hub:"):
            path, _, config = data.removeprefix("hub:").partition(":")
            return read_hub(path, config or None, "validation")
        hub = GLUE[data].hub
        assert hub is not None  # every GLUE task has its place on the hub
        return read_hub(*hub)
    return read_table(data)


HEADS: dict[str, str | tuple[str, ...]] = {
    "classification": "ForSequenceClassification", "regression": "ForSequenceClassification",
    "token-classification": "ForTokenClassification", "multiple-choice": "ForMultipleChoice",
    "masked-lm": ("ForMaskedLM", "ForPreTraining"), "causal-lm": ("ForCausalLM", "LMHeadModel"),
    "translation": ("ForConditionalGeneration", "MTModel"),
}  # fmt: skip


def check_classifier(model: PreTrainedModel, kind: str, untrained: bool = False) -> None:
    """The model must have the head that the task needs, and that head must have been trained."""
    name = type(model).__name__
    if not name.endswith(HEADS[kind]):
        ending = HEADS[kind]
        wanted = ending if isinstance(ending, str) else " or ".join(ending)
        raise ModelUnavailable(f"{name} cannot do {kind}: expected a model that ends in {wanted}; fine-tune one first")
    if kind == "regression" and model.config.num_labels != 1:
        raise ModelUnavailable(f"{name} has {model.config.num_labels} outputs; a regression needs a model with one")
    if (
        "decoder" in read_anatomy(model).stacks
        and kind in ("classification", "regression")
        and model.config.pad_token_id is None
    ):
        raise ModelUnavailable(f"the config of {name} has no pad_token_id, which it needs to find a text's end; set it")
    new = [weight for weight in getattr(model, NEW_WEIGHTS, []) if not weight.endswith("position_ids")]
    if new and not untrained:
        raise ModelUnavailable(
            f"the checkpoint has no trained weights for {', '.join(new[:3])}: they are newly initialised, "
            "and a score would mean nothing; fine-tune the model first, or say --untrained (untrained=True)"
        )


def _reference_means(job: _Job, tokenizer: Any, reference: Data, seed: int) -> dict[str, torch.Tensor]:
    """The mean head outputs over the reference, which is read like the sweep's own data."""
    examples = read_examples(_table(reference, job.task), job.task, getattr(job.model.config, "id2label", None))
    encodings = encode(examples, tokenizer, job.encodings.limit, seed)
    order = by_length(encodings.lengths)
    padding = tokenizer.pad_token_id or 0
    batches = []
    for start, stop in plan_batches(encodings.lengths[order], 4096):
        batch = collate([encodings.rows[row] for row in order[start:stop]], padding, job.model.device)
        kept = forward_inputs(job.model, batch)
        if job.task.kind == "translation":
            kept["labels"] = batch["labels"]
        batches.append(kept)
    return mean_outputs(job.model, batches)


def _run(runner: Runner, sink: Any, shard: Shard, progress: Progress | None) -> None:
    done = sink.done()
    sizes = [stop - start for start, stop in runner.plan.units]
    mine = shard.mine(range(len(sizes)))
    total, reached = sum(sizes[unit] for unit in mine), float(sum(sizes[unit] for unit in mine if done[unit]))

    def tick(share: float) -> None:
        nonlocal reached
        reached += share
        if progress is not None:
            progress(reached, total)

    runner.tick = tick
    tick(0)
    if not sink.complete:
        run_units(done, shard, runner.run, sink.save)


class _Memory:
    """Keeps the outputs of a sweep in memory."""

    complete = False

    def __init__(self, plan: SweepPlan, attributes: dict[str, Any]) -> None:
        self.units, self.attributes = list(plan.units), attributes
        self.found: dict[int, tuple[Arrays, Arrays]] = {}

    def done(self) -> list[bool]:
        return [False] * len(self.units)

    def save(self, unit: int, outputs: tuple[Arrays, Arrays]) -> None:
        self.found[unit] = outputs

    def finish(self, choices: Choices, job: _Job, order: np.ndarray, texts: bool, seed: int) -> xr.Dataset:
        parts = [self.found[unit] for unit in sorted(self.found)]
        rows = np.concatenate([order[slice(*self.units[unit])] for unit in sorted(self.found)])
        baseline = {key: np.concatenate([part[0][key] for part in parts]) for key in parts[0][0]}
        variants = {key: np.concatenate([part[1][key] for part in parts], axis=1) for key in parts[0][1]}
        arrays = {f"baseline_{key}": (_dims(key, ()), value) for key, value in baseline.items()}
        arrays |= {key: (_dims(key, choices.dims), _arranged(choices, value)) for key, value in variants.items()}
        fixed = fixed_arrays(choices, job, rows, texts)
        complete = len(rows) == len(order)
        if complete:
            arrays |= _summary(choices, job, rows, baseline, variants, seed)
        dataset = xr.Dataset({**arrays, **{k: v for k, v in fixed.items() if k not in v[0]}},
                             coords={k: v for k, v in fixed.items() if k in v[0]})  # fmt: skip
        dataset.attrs = self.attributes | {"complete": complete}
        return dataset.sortby("example")


class _Folder:
    """Writes the outputs of a sweep into a study folder as they come."""

    def __init__(
        self, out: str | Path, name: str | None, identity: dict[str, Any], attributes: dict[str, Any],
        choices: Choices, job: _Job, order: np.ndarray, texts: bool,
    ) -> None:  # fmt: skip
        from headcount.core.store import ArrayPlan, Study

        group = f"sweep/{choices.by}-{identity['how']}{'@' + name if name else ''}"
        shapes = output_shapes(job)
        coords = choices.coords()
        lead = tuple(len(coords[dim]) for dim in choices.dims)
        arrays = {}
        for key, shape in shapes.items():
            arrays[f"baseline_{key}"] = ArrayPlan(_dims(key, ()), (len(order), *shape), DTYPES[key])
            arrays[key] = ArrayPlan(_dims(key, choices.dims), (*lead, len(order), *shape), DTYPES[key])
        units = [(start, stop) for start, stop in attributes["units"]]
        fixed = fixed_arrays(choices, job, order, texts)
        self.group = Study(out).group(group, identity, attributes, arrays, fixed, units)
        self.units = [(int(start), int(stop)) for start, stop in self.group.zarr.attrs["units"]]
        self.choices = choices

    @property
    def complete(self) -> bool:
        return self.group.complete

    def done(self) -> list[bool]:
        return self.group.done()

    def save(self, unit: int, outputs: tuple[Arrays, Arrays]) -> None:
        baseline, variants = outputs
        arrays = {f"baseline_{key}": value for key, value in baseline.items()}
        arrays |= {key: _arranged(self.choices, value) for key, value in variants.items()}
        self.group.write_unit(unit, *self.units[unit], arrays)

    def finish(self, choices: Choices, job: _Job, order: np.ndarray, texts: bool, seed: int) -> xr.Dataset:
        if not self.group.complete and all(self.group.done()):
            stored = self.group.read()
            keys = output_shapes(job)
            baseline = {key: stored[f"baseline_{key}"].values for key in keys}
            variants = {key: _flat(choices, stored[key].values) for key in keys}
            self.group.finish(_summary(choices, job, order, baseline, variants, seed), {})
        return self.group.read().sortby("example")


def output_shapes(job: _Job) -> dict[str, tuple[int, ...]]:
    """The arrays that are kept for each example, with their shapes."""
    kind = job.task.kind
    if isinstance(job.metric, Metric) and job.metric.name in GENERATED:
        return {"texts": ()}
    if kind in LANGUAGE:
        return {"loss": (), "tokens": ()}
    if kind == "token-classification":
        return {"predictions": (max(sum(tag >= 0 for tag in row["labels"]) for row in job.encodings.rows),)}
    if kind == "multiple-choice":
        return {"logits": (len(job.task.texts[0]) - 1,)}
    return {"logits": (job.model.config.num_labels,)}


def fixed_arrays(choices: Choices, job: _Job, rows: np.ndarray, texts: bool) -> dict[str, tuple[tuple[str, ...], Any]]:
    """What is known before any pass: coordinates, labels and texts of the examples, in the order of `rows`."""
    fixed: dict[str, tuple[tuple[str, ...], Any]] = {
        dim: ((dim,), np.asarray(values, dtype=object if isinstance(values[0], str) else None))
        for dim, values in choices.coords().items()
    }
    fixed["example"] = (("example",), job.examples.ids[rows])
    labels = job.examples.labels
    if isinstance(labels, np.ndarray):
        fixed["label"] = (("example",), labels[rows])
    elif labels is not None:
        fixed["label"] = (("example",), np.array([_text(labels[row]) for row in rows], dtype=object))
    if texts:
        for number, column in enumerate(
            ("text", "pair", *[f"choice{n}" for n in range(2, 9)])[: len(job.examples.texts[0])]
        ):
            values = [_text(job.examples.texts[row][number]) for row in rows]
            fixed[column] = (("example",), np.array(values, dtype=object))
    return fixed


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(map(str, value))


def _summary(choices: Choices, job: _Job, rows: np.ndarray, baseline: Arrays, variants: Arrays, seed: int) -> Summary:
    """The statistics, over the examples in their own order, so that they do not depend on that of the passes."""
    back = np.argsort(job.examples.ids[rows])
    labels = job.examples.labels
    return summarise(
        choices,
        {key: value[back] for key, value in baseline.items()},
        {key: value[:, back] for key, value in variants.items()},
        labels,
        job.metric,
        seed,
    )


def _dims(key: str, lead: tuple[str, ...]) -> tuple[str, ...]:
    tail = {"logits": ("class",), "predictions": ("word",)}.get(key, ())
    return (*lead, "example", *tail)


def _arranged(choices: Choices, values: np.ndarray) -> np.ndarray:
    """[*dims, example, ...] from [choice, example, ...]."""
    if choices.dims == ("set",):
        return values
    coords = choices.coords()
    shape = tuple(len(coords[dim]) for dim in choices.dims)
    filler: Any = "" if values.dtype == object else np.nan if values.dtype.kind == "f" else -1
    full = np.full((*shape, *values.shape[1:]), filler, dtype=values.dtype)
    for place, value in zip(_places(choices), values, strict=True):
        full[place] = value
    return full


def _flat(choices: Choices, values: np.ndarray) -> np.ndarray:
    """[choice, example, ...] from [*dims, example, ...]."""
    if choices.dims == ("set",):
        return values
    return np.stack([values[place] for place in _places(choices)])


def _places(choices: Choices) -> list[tuple[int, ...]]:
    stacks = {stack: number for number, stack in enumerate(choices.layout.stacks)}
    if choices.heads:
        return [(stacks[head.stack], head.layer, head.head) for head in choices.keys]
    return [(stacks[stack], layer) for stack, layer in choices.keys]


def _model_name(model: PreTrainedModel) -> str:
    return str(getattr(model.config, "_name_or_path", "") or type(model).__name__)


def _label_names(model: PreTrainedModel, task: Task) -> list[str]:
    if task.kind not in ("classification", "token-classification"):
        return []
    return [str(model.config.id2label[number]) for number in sorted(model.config.id2label)]


def _device(model: PreTrainedModel) -> str:
    return torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else model.device.type
