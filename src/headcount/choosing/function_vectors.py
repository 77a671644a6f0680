"""Which heads carry a task that few-shot prompts show (function vectors), and are these the induction heads?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import hypergeom
from transformers import PreTrainedModel

from headcount.ablation.hows import FunctionVector
from headcount.ablation.job import Data, check_classifier, find_known_task
from headcount.ablation.sweep import sweep
from headcount.core.claims import significant
from headcount.core.mean_changes import mean_changes
from headcount.core.options import belongs_to
from headcount.core.proportions import wilson_interval
from headcount.core.provenance import fingerprint, origin_of
from headcount.core.results import HEAD_DIMS, Labelled, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.core.statistics import false_discovery, rank_correlation
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.in_memory import name_of
from headcount.data.kinds.completion import Completion
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress, in_step
from headcount.engines.run import Run, group_name
from headcount.errors import InvalidOption
from headcount.measures.induction import Induction
from headcount.measures.measure import measure
from headcount.models.compiled import takes_compiled

REPEATED = "synthetic:repeat"
"""The texts on which induction is measured."""
TEXTS = 50
PAPER = "Todd 2024"
CARRIED = "Carried from examples"
"""The heading under which a page lists function vectors."""
SIDES = ("clean", "corrupted", "difference")
"""The log-probabilities of the answers without a change."""
NEITHER, VECTOR, INDUCTION, BOTH = range(4)
INDUCTIVE = Induction.schemas["gain"].role_from
"""The induction score from which on a head is called an induction head."""
SCHEMAS = {
    "rise": Schema(
        "Rise of the answer's log-probability by the head's mean output",
        "nats",
        "above 0: its mean output carries the task (function vector)",
        signed=True,
        category=CARRIED,
        paper=PAPER,
        rank=5,
    ),
    "probability": Schema(
        "Rise of the answer's probability by the head's mean output",
        "probability",
        "above 0: its mean output carries the task (function vector)",
        (-1, 1),
        signed=True,
        category=CARRIED,
        paper=PAPER,
        rank=6,
    ),
    "rise_of_task": Schema(
        "rise of the answer's log-probability",
        "nats",
        "of one task",
        signed=True,
        category=CARRIED,
        paper=PAPER,
        rank=8,
    ),
    "induction": Schema("Induction score of the same head", "", "on repeated random tokens", (-1, 1), shown=False),
    "role": Schema(
        "Function-vector head, induction head, or both",
        direction=f"function vector: a significant rise (q < 0.05); induction: a score of {INDUCTIVE} or more",
        names=("neither", "function vector", "induction", "both"),
        category=CARRIED,
        paper="Yin 2025",
        rank=7,
    ),
    "correlation": Schema("Rank correlation of rise and induction score", "", "over all heads", (-1, 1)),
    "probability_correlation": Schema("Rank correlation of probability and induction score", "", range=(-1, 1)),
    "both_expected": Schema("Heads that are both, expected by chance", "heads"),
    "both_p": Schema("p-value of as many heads that are both, or more", "", range=(0, 1)),
    "clean": Schema("Log-probability of the answer after clean examples", "nats", shown=False),
    "corrupted": Schema("Log-probability of the answer after shuffled examples", "nats", shown=False),
    "difference": Schema("Log-probability of the answer, clean minus shuffled", "nats", shown=False),
    "honest_rise": Schema("Rise by the best head", "nats", "selected on one half, evaluated on the other"),
    "task": Schema("Task"),
    "examples_of_task": Schema("Prompts of the task"),
    "clean_accuracy": Schema("Accuracy after clean examples", "", range=(0, 1)),
    "corrupted_accuracy": Schema("Accuracy after shuffled examples", "", range=(0, 1)),
}


@takes_compiled
@writes_study("out")
def function_vectors(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    repeated: str = REPEATED,
    texts: int = TEXTS,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The heads whose mean output carries the task of few-shot prompts, as a Dataset with dims (stack, layer, head).

    `data`: prompts with a counterpart, such as `synthetic:few-shot`: the same prompts with shuffled labels. A head's
    mean output at the last token of clean prompts takes the place of its output at the last token of a shuffled one;
    `rise` is what that adds to the log-probability of the right answer, with interval, p and q, `probability` the same
    of its probability (Todd et al. 2024). The mean is over other prompts than those it is put into: of each task, the
    prompts are split into halves without a common answer, and each half is given the means of the other one.
    `induction`: the induction score of the same head on `texts` texts of `repeated`. `correlation`: the rank
    correlation of `rise` and `induction`, with an interval over the heads; `role`: which heads are one or both (Yin and
    Steinhardt 2025 ask whether they are the same). `clean_accuracy` [task]: whether the model does the tasks at all.
    `out`: a study folder, which also keeps the sweep and the measure; the same call resumes.
    """
    check_numbers(limit=limit, seed=seed, max_length=max_length, texts=texts)
    belongs_to("name", name, "out", out)
    known = find_known_task(data, task)
    if not isinstance(known.kind, Completion):
        raise InvalidOption(f"got the task {known.name}; function vectors need prompts and answers: task=completion")
    check_classifier(model, known)
    suffix = None if out is None else "function-vectors" if name is None else f"{name}-function-vectors"
    shared: dict[str, Any] = {"seed": seed, "max_length": max_length, "out": out, "name": suffix}
    swept = sweep(
        model,
        tokenizer,
        data,
        task=known,
        how=FunctionVector(),
        metric="log_probability",
        limit=limit,
        progress=in_step(progress, "function vectors"),
        **shared,
    )
    measured = measure(
        model,
        tokenizer,
        repeated,
        only=[Induction.name],
        limit=texts,
        progress=in_step(progress, "induction"),
        **shared,
    )[Induction.name].to_dataset()
    run = Run(
        group_name("function_vectors/heads", name),
        origin_of(swept.attrs),
        {"task": known.name, "repeated": repeated, "texts": texts, "limit": limit, "measured": _digest(measured)},
        {
            "task": known.name,
            "data": name_of(data),
            "repeated": repeated,
            "texts": measured.sizes["example"],
            "examples": swept.sizes["example"],
            "cut": swept.attrs["cut"],
            ATTRIBUTE: swept.attrs[ATTRIBUTE],
            "notes": swept.attrs["notes"],
        },
        lambda _: summarise_vectors(swept, measured, seed),
    )
    return perform(run, out)


def _digest(measured: xr.Dataset) -> str:
    """Of the texts that induction was measured on."""
    return fingerprint([measured.attrs["identity"]["data"]])


def summarise_vectors(swept: xr.Dataset, measured: xr.Dataset, seed: int) -> Labelled:
    """What a sweep with function vectors says, beside the induction score of the same heads."""
    rise, induction = swept["delta"].values, measured["gain"].values
    known = np.isfinite(rise)
    probabilities, before = np.exp(-swept["loss"].values), np.exp(-swept["baseline_loss"].values)
    ones = np.ones(swept.sizes["example"])
    tested = mean_changes(probabilities[known] - before, ones, seed)
    spread = partial(_spread, known)
    arrays: dict[str, tuple[Any, ...]] = {
        **{key: ((key,), swept[key].values) for key in HEAD_DIMS},
        **with_interval("rise", HEAD_DIMS, [swept[key].values for key in ("delta", "low", "high")]),
        "rise_p": (HEAD_DIMS, swept["p"].values),
        "rise_q": (HEAD_DIMS, swept["q"].values),
        **with_interval("probability", HEAD_DIMS, [spread(part) for part in (tested.delta, tested.low, tested.high)]),
        "probability_p": (HEAD_DIMS, spread(tested.p)),
        "probability_q": (HEAD_DIMS, spread(false_discovery(tested.p))),
        **with_interval("induction", HEAD_DIMS, [measured[f"gain{end}"].values for end in ("", "_low", "_high")]),
        **_roles(known, significant(swept["q"].values) & (rise > 0), induction >= INDUCTIVE),
        **with_interval("correlation", (), _correlation(rise, induction)),
        **with_interval("probability_correlation", (), _correlation(spread(tested.delta), induction)),
        **{f"{key}{end}": ((), swept[f"{key}{end}"].values) for key in SIDES for end in ("", "_low", "_high")},
        **{f"honest_rise{end}": ((), swept[f"honest_gain{end}"].values) for end in ("", "_low", "_high")},
        **_by_task(swept, known, seed),
    }
    return with_schemas(arrays, SCHEMAS)


def _spread(known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """[stack, layer, head] from the values of the heads that there are."""
    spread = np.full(known.shape, np.nan)
    spread[known] = values
    return spread


def _correlation(first: np.ndarray, second: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(value) for value in rank_correlation(first.ravel(), second.ravel())]


def _roles(known: np.ndarray, vector: np.ndarray, inductive: np.ndarray) -> dict[str, tuple[Any, ...]]:
    """Which heads are function-vector heads, induction heads or both, and whether more are both than by chance."""
    roles = np.where(known, NEITHER + VECTOR * vector + INDUCTION * inductive, np.nan)
    both, counts = int((roles == BOTH).sum()), (int(vector[known].sum()), int(inductive[known].sum()))
    heads = int(known.sum())
    return {
        "role": (HEAD_DIMS, roles),
        "both_expected": ((), counts[0] * counts[1] / heads),
        "both_p": ((), float(hypergeom.sf(both - 1, heads, *counts))),
    }


def _by_task(swept: xr.Dataset, known: np.ndarray, seed: int) -> dict[str, tuple[Any, ...]]:
    """Of each task: whether the model does it after clean and after shuffled examples, and the rise by each head."""
    examples = swept.sizes["example"]
    tasks = swept["task"].values.astype(str) if "task" in swept else np.full(examples, "all")
    names = list(dict.fromkeys(tasks.tolist()))
    members = np.stack([tasks == one for one in names])
    sizes = members.sum(1)
    changes = (swept["baseline_loss"].values - swept["loss"].values)[known]
    found = [mean_changes(changes[:, rows], np.ones(int(rows.sum())), seed) for rows in members]
    columns = [np.stack([_spread(known, getattr(one, part)) for one in found], -1) for part in ("delta", "low", "high")]
    arrays: dict[str, tuple[Any, ...]] = {
        "task": (("task",), np.array(names, dtype=object)),
        "examples_of_task": (("task",), sizes),
        **with_interval("rise_of_task", (*HEAD_DIMS, "task"), columns),
    }
    for side, prefix in (("clean", "given_"), ("corrupted", "baseline_")):
        right = swept[f"{prefix}correct_tokens"].values == swept[f"{prefix}tokens"].values
        counts = (members & right).sum(1)
        arrays |= with_interval(f"{side}_accuracy", ("task",), [counts / sizes, *wilson_interval(counts, sizes)])
    return arrays
