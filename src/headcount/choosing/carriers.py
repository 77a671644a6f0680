"""Do the heads that score high in a measure carry what it is about? The loss without them, beside random heads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import spearmanr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, find_known_task
from headcount.ablation.matched_sets import plan_sets
from headcount.ablation.sweep import sweep
from headcount.choosing.halves import read_halves
from headcount.core.heads import Head
from headcount.core.mean_changes import mean_changes
from headcount.core.options import belongs_to
from headcount.core.provenance import fingerprint, origin_of
from headcount.core.results import Labelled, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.core.statistics import false_discovery
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.in_memory import name_of
from headcount.data.kinds.language import Language
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress
from headcount.engines.run import Run, group_name
from headcount.errors import DataProblem, InvalidOption
from headcount.measures.catalogue import choose_measures
from headcount.measures.contract import Question
from headcount.measures.measure import measure as run_measure
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy

TOP = 10
SCORES = ("gain", "score", "rank")
"""The variables that say how far a head does what a measure is about, the first that it has; else its first one."""
SCHEMAS = {
    "top_head": Schema("Heads with the highest scores", "", "on one half of the texts, highest first"),
    "top_score": Schema("Their scores", "", "on one half of the texts"),
    "single": Schema("Change of the loss without one of them", "nats", "on the other half", signed=True),
    "single_q": Schema("q-value", "", "corrected for the heads that were ablated one by one", (0, 1)),
    "baseline": Schema("Loss of the whole model", "nats", "on the other half", (0, None)),
    "together": Schema("Change of the loss without all of them", "nats", "above 0: they are needed", signed=True),
    "random": Schema("Change without as many random heads of the same layers", "nats", "mean", signed=True),
    "random_set": Schema("Change without each random set", "nats", signed=True),
    "beyond_random": Schema("Change beyond that of random heads", "nats", "above 0: they carry it", signed=True),
    "score_and_effect": Schema("Rank correlation of score and effect", "", "over the heads with high scores", (-1, 1)),
}


@takes_compiled
@writes_study("out")
def carriers(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    measure: str | Question = "induction",
    task: str | Task | None = None,
    top: int = TOP,
    randoms: int = 10,
    how: str = "zero",
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The loss of a language model without the heads that score highest in a measure, beside random heads.

    `data`: synthetic texts, such as `synthetic:repeat`, or texts as for `sweep`; `task`: a language-modelling task,
    completion for synthetic texts. `measure`: a measure of `hc.measure`, or one of your own (`hc.Question`); its heads
    are ordered by `gain`, `score` or `rank`, whichever it has, or by its first variable. One half of the texts selects
    the `top` heads, the other half is scored without each of them (`single`), without all of them (`together`), and
    without `randoms` sets of as many other heads of the same layers (`random`). `beyond_random` is the difference, with
    an interval over the texts and a p-value. `out`: a study folder, which also keeps the measure and the sweep; the
    same call resumes.
    """
    check_numbers(limit=limit, seed=seed, max_length=max_length)
    belongs_to("name", name, "out", out)
    [question] = choose_measures([measure])
    measure = question.name
    known = find_known_task(data, task)
    if not isinstance(known.kind, Language) or known.kind.find_metric(known.metric).generated:
        raise InvalidOption(f"got the task {known.name}; expected one with a loss of tokens, such as causal-lm")
    layout = read_anatomy(model).layout
    most = layout.count // 2
    top = min(top, most) if top == TOP else top  # a small model has fewer
    if not 1 <= top <= most or randoms < 1:
        raise InvalidOption(
            f"got top={top} and randoms={randoms}; expected 1 to {most} heads (half of those of the model), and at "
            "least 1 random set"
        )
    check_classifier(model, known)
    first, second = read_halves(data, known, limit, seed, tokenizer)
    shared: dict[str, Any] = {"seed": seed, "max_length": max_length, "out": out, "progress": progress}
    suffix = None if out is None else f"carriers-{measure}" if name is None else f"{name}-{measure}"
    measured = run_measure(model, tokenizer, first, only=[question], name=suffix, **shared)[measure].to_dataset()
    variable = next((score for score in SCORES if score in measured), next(iter(question.schemas)))
    order, scores = _order(measured, variable, list(layout), top)
    chosen, drawn = plan_sets(order, layout, [top], randoms, seed)
    swept = sweep(
        model,
        tokenizer,
        second,
        task=known,
        by=[*[[head] for head in order[:top]], *chosen, *drawn],
        how=how,
        metric="loss",
        name=suffix,
        texts=False,
        **shared,
    )
    run = Run(
        group_name(f"carriers/{measure}", name),
        origin_of(swept.attrs),
        {"measure": measure, "top": top, "randoms": randoms, "how": how, "sets": fingerprint([list(map(str, order))])},
        {
            "measure": measure,
            "variable": variable,
            "title": question.schemas[variable].title,
            "task": known.name,
            "how": how,
            "data": name_of(data),
            "top": top,
            "randoms": randoms,
            "heads": layout.count,
            "examples": swept.sizes["example"],
            "selecting": len(first),
            "cut": swept.attrs.get("cut", 0),
            ATTRIBUTE: swept.attrs.get(ATTRIBUTE, {}),
            "notes": swept.attrs.get("notes", []),
        },
        lambda _: _summarise(swept, [layout.spell(head) for head in order[:top]], scores[:top], seed),
    )
    return perform(run, out)


def _order(measured: xr.Dataset, variable: str, heads: list[Head], top: int) -> tuple[list[Head], np.ndarray]:
    """The heads by their scores, highest first, and the scores with their intervals [head, value low high]."""
    stacks = {str(stack): number for number, stack in enumerate(measured["stack"].values)}
    triple = np.stack([measured[f"{variable}{end}"].values for end in ("", "_low", "_high")], -1)
    values = np.stack([triple[stacks[head.stack], head.layer, head.head] for head in heads])
    known = np.isfinite(values[:, 0])
    if known.sum() < top:
        raise DataProblem(
            f"only {int(known.sum())} heads have a score in these texts; expected at least {top}: choose other texts "
            "or a smaller top="
        )
    order = np.argsort(-np.where(known, values[:, 0], -np.inf), kind="stable")
    return [heads[number] for number in order], values[order]


def _summarise(swept: xr.Dataset, names: list[str], scores: np.ndarray, seed: int) -> Labelled:
    """What the losses of the texts say, of each head alone, of all together and of the random sets."""
    losses, tokens = swept["loss"].values, swept["tokens"].values
    changes, weights = losses - swept["baseline_loss"].values, tokens[0]
    top = len(names)
    beyond = changes[top] - changes[top + 1 :].mean(0)
    tested = mean_changes(np.concatenate([changes[: top + 1], beyond[None]]), weights, seed)
    single = slice(0, top)
    ends = (tested.delta, tested.low, tested.high)
    correlation = spearmanr(scores[:, 0], tested.delta[single]).statistic if top > 2 else np.nan
    arrays: dict[str, tuple[Any, ...]] = {
        "top_head": (("rank",), np.array(names, dtype=object)),
        **with_interval("top_score", ("rank",), list(scores.T)),
        **with_interval("single", ("rank",), [values[single] for values in ends]),
        "single_q": (("rank",), false_discovery(tested.p[single])),
        "baseline": ((), float(swept["baseline_loss"].values.sum() / weights.sum())),
        **with_interval("together", (), [values[top] for values in ends]),
        "together_p": ((), tested.p[top]),
        "random": ((), changes[top + 1 :].sum() / weights.sum() / (len(changes) - top - 1)),
        "random_set": (("draw",), changes[top + 1 :].sum(1) / weights.sum()),
        **with_interval("beyond_random", (), [values[top + 1] for values in ends]),
        "beyond_random_p": ((), tested.p[top + 1]),
        "score_and_effect": ((), correlation),
    }
    return with_schemas(arrays, SCHEMAS)
