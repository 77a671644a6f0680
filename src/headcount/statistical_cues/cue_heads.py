"""Which heads carry the cues: attention to cue words, and the effect of each head where cues are right and wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, Job, prepare_job, read_data
from headcount.ablation.matched_sets import plan_sets
from headcount.ablation.sweep import sweep
from headcount.core.heads import Head, Layout
from headcount.core.options import belongs_to
from headcount.core.provenance import fingerprint, origin_of
from headcount.core.results import HEAD_DIMS, Labelled, head_coords, label_axes
from headcount.core.schema import with_schemas
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.in_memory import name_of
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress
from headcount.engines.run import Run, group_name
from headcount.errors import DataProblem, InvalidOption
from headcount.models.compiled import takes_compiled
from headcount.statistical_cues.cue_attention import attention_arrays, look_at_cues, why_not
from headcount.statistical_cues.folds import group_texts, make_folds
from headcount.statistical_cues.head_effects import Parts, log_odds
from headcount.statistical_cues.head_results import SCHEMAS, summarise_heads
from headcount.statistical_cues.pointing import Counting, Pointing, point
from headcount.statistical_cues.productivity import APPLICABLE
from headcount.statistical_cues.reading import CueData, CueTask, find_cue_task, read_cue_data
from headcount.statistical_cues.tokenize import check_rule
from headcount.statistical_cues.without_cue_heads import RANDOMS, REMOVED, compare_sets
from headcount.trace.session import check_untouched

FEWEST = 10
"""Examples of each part in each half at least."""


@dataclass(frozen=True)
class _Read:
    """The examples, as cues and as the model see them, and which way the cues point."""

    data: CueData
    task: CueTask
    table: pd.DataFrame
    pointing: Pointing
    first: np.ndarray
    """[example]: whether it is in the half that selects heads."""


@takes_compiled
@writes_study("out")
def cue_heads(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    choices: Iterable[str] | None = None,
    text: Iterable[str] | None = None,
    label: str | None = None,
    labels: Iterable[str] | None = None,
    cue: Sequence[str] | str | None = None,
    side: str | None = None,
    tokens: str = "words",
    cased: bool = False,
    bigrams: bool = True,
    least: int = 10,
    how: str = "zero",
    removed: Sequence[int] = REMOVED,
    randoms: int = RANDOMS,
    max_length: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Which heads of a fine-tuned model carry statistical cues, as a Dataset with dims (stack, layer, head).

    `data`, `task`, `choices`, `text`, `label`, `labels`, `side`, `tokens`, `cased`, `bigrams` and `least` as for
    `cues`; multiple choice needs the columns of the context in `text`. `cue`: one or several words or bigrams; by
    default all cues of the data. `how`: the replacement for a head's output, as for `sweep`.

    Examples are divided by what a classifier that sees nothing but cues says about them, out-of-fold: cues right, or
    cues wrong. `reliance` is the mean log-odds of the right label on the former minus the latter, `evidence` the mean
    of the two. For each head, `effect_right` and `effect_wrong` are the changes of the log-odds without it,
    `cue_effect` their difference, with an interval, `cue_p` and `cue_q`: below 0 the head carries cues.
    `selectivity` says whether it takes a larger share of the reliance than of the evidence, as a head that merely
    weakens the model does not. `accuracy_right` and `accuracy_wrong` are the changes of accuracy. `attention`, with
    `uniform` and `gain`, is the attention to cue words (with a fast tokenizer, except in encoder-decoders).

    Along `removed`: the model without as many heads that carry cues, selected on one half of the examples and evaluated
    on the other: `reliance_change` and `accuracy_change`, beside `randoms` sets of random heads of the same layers.
    `out`: a study folder, which also keeps the sweeps; the same call resumes.
    """
    check_numbers(seed=seed, limit=limit, max_length=max_length, least=least, randoms=randoms)
    if randoms < 1:
        raise InvalidOption(f"got randoms={randoms}; expected at least 1 random set of heads to compare with")
    belongs_to("name", name, "out", out)
    check_rule(tokens, cased, tokenizer)
    check_untouched(model)
    cue_task = find_cue_task(data, task, choices, text, label, labels, modelled=True)
    table = cue_task.prepare(read_data(data, cue_task.task))
    job = prepare_job(model, tokenizer, table, cue_task.task, how, "accuracy", limit, seed, max_length)
    counts = _check_removed(removed, job.anatomy.layout)
    counting = Counting(APPLICABLE[0], tokens, cased, bigrams, least)
    only = [cue] if isinstance(cue, str) else None if cue is None else list(cue)
    read = _read(table, cue_task, side, job, counting, tokenizer, only, limit, seed)
    parts = Parts.of(read.pointing.right)
    _check_parts(parts, read.first)
    shared: dict[str, Any] = {"task": cue_task.task, "how": how, "seed": seed, "max_length": max_length, "out": out}
    suffix = "cues" if name is None else f"cues-{name}"
    swept = sweep(model, tokenizer, table, metric="accuracy", limit=limit, name=name, progress=progress, **shared)
    attention = look_at_cues(job, tokenizer, read.data, read.pointing.cues, counting, seed, out, name, progress)
    layout, ids = job.anatomy.layout, read.data.examples.ids
    baseline, odds, was_right, right = _by_head(swept.sel(example=ids), layout, read.data.labels)
    order = _order(odds - baseline, parts, read.first, layout)
    chosen, drawn = plan_sets(order, layout, counts, randoms, seed)
    evaluated = ids[~read.first]
    swept_sets = sweep(
        model,
        tokenizer,
        table.loc[evaluated],
        by=[*chosen, *drawn],
        metric="accuracy",
        name=None if out is None else suffix,
        texts=False,
        progress=progress,
        **shared,
    ).sel(example=evaluated)

    def summarise(_: Any) -> Labelled:
        arrays = summarise_heads(baseline, odds, was_right, right, parts, layout, seed)
        half = parts.at(~read.first)
        half_labels = read.data.labels[~read.first]
        half_odds = log_odds(swept_sets["logits"].values, half_labels)
        half_right = swept_sets["logits"].values.argmax(-1) == half_labels
        arrays |= compare_sets(
            chosen,
            counts,
            baseline[~read.first],
            half_odds,
            was_right[~read.first],
            half_right,
            half,
            seed,
        )
        examples = {
            "example": (("example",), ids),
            "cue_right": (("example",), read.pointing.right),
            "cue": (("cue",), np.array(read.pointing.cues, dtype=object)),
            "right_examples": ((), int(parts.right.sum())),
            "wrong_examples": ((), int(parts.wrong.sum())),
        }
        return {
            **label_axes(head_coords(layout)),
            **arrays,
            **with_schemas(examples, SCHEMAS),
            **({} if attention is None else attention_arrays(attention)),
        }

    run = Run(
        group_name(f"cue_heads/{cue_task.task.kind.name}", name),
        origin_of(swept.attrs),
        {
            **vars(counting),
            "cue": only,
            "side": side or "both",
            "how": how,
            "removed": list(counts),
            "randoms": randoms,
            "sweep": swept.attrs.get("data_fingerprint", fingerprint([ids])),
        },
        {
            "task": cue_task.task.name,
            "kind": cue_task.task.kind.name,
            "how": how,
            "data": name_of(data),
            "examples": len(ids),
            "named": only is not None,
            "side": read.data.side or ("" if read.data.is_choice else "both"),
            "tokens": tokens,
            "cased": cased,
            "randoms": randoms,
            "heads": layout.count,
            "cut": job.encodings.cut,
            ATTRIBUTE: dict(job.examples.blank),
            "notes": [*job.examples.notes, *([] if attention is not None else [why_not(model, tokenizer)])],
        },
        summarise,
    )
    return perform(run, out)


def _check_removed(removed: Sequence[int], layout: Layout) -> tuple[int, ...]:
    most = layout.count // 2
    counts = tuple(sorted({int(count) for count in removed if tuple(removed) != REMOVED or count <= most}))
    if not counts or counts[0] < 1 or counts[-1] > most:
        raise InvalidOption(
            f"got removed={list(removed)}; expected numbers of heads from 1 to {most}, half of those of the model"
        )
    return counts


def _read(
    table: pd.DataFrame,
    cue_task: CueTask,
    side: str | None,
    job: Job,
    counting: Counting,
    tokenizer: Any,
    only: list[str] | None,
    limit: int | None,
    seed: int,
) -> _Read:
    classes = None if cue_task.choices else job.model.config.id2label
    read = read_cue_data(table, cue_task, side, limit, seed, classes, tokenizer)
    groups = group_texts(read.texts)
    pointing = point(read, counting, tokenizer, groups, only, seed)
    return _Read(read, cue_task, table, pointing, make_folds(groups, 2, seed) == 0)


def _check_parts(parts: Parts, first: np.ndarray) -> None:
    fewest = min(int((part & half).sum()) for part in (parts.right, parts.wrong) for half in (first, ~first))
    if fewest < FEWEST:
        raise DataProblem(
            f"cues are right on {int(parts.right.sum()):,} examples and wrong on {int(parts.wrong.sum()):,}; expected "
            f"at least {FEWEST} of both in each half: give more examples"
        )


def _by_head(
    swept: xr.Dataset, layout: Layout, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Log-odds of the whole model [example] and without each head [head, example], and whether each is right."""
    stacks = {str(stack): number for number, stack in enumerate(swept["stack"].values)}
    logits = swept["logits"].transpose(*HEAD_DIMS, "example", "class").values
    without = np.stack([logits[stacks[head.stack], head.layer, head.head] for head in layout])
    whole = swept["baseline_logits"].transpose("example", "class").values
    return (
        log_odds(whole, labels),
        log_odds(without, labels),
        whole.argmax(-1) == labels,
        without.argmax(-1) == labels,
    )


def _order(changes: np.ndarray, parts: Parts, first: np.ndarray, layout: Layout) -> list[Head]:
    """The heads by the change of reliance on the selecting half, those that carry most of the cues first."""
    half = parts.at(first)
    reliance = changes[:, first][:, half.right].mean(1) - changes[:, first][:, half.wrong].mean(1)
    heads = list(layout)
    return [heads[number] for number in np.argsort(reliance, kind="stable")]
