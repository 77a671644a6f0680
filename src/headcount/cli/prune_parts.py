"""The end of `headcount prune` to a budget: recovery, stages, and what is said about the result."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headcount.core.options import belongs_to, without_effect
from headcount.errors import NotFinite, TrainingDiverged

ORDERS = ("drop", "keep", "by", "order", "anew", "normed", "stack")
"""Options of heads that are removed in an order."""


def recover_parts(
    whole: Any,
    smaller: Any,
    tokenizer: Any,
    data: str,
    train: str | None,
    task: Any,
    trained: dict[str, Any],
    state: Path | None,
    metric: str | None,
    limit: int | None,
    seed: int,
    max_length: int | None,
) -> list[str]:
    """Train the smaller model, in place, on the training texts; a line with its scores on the held-out half."""
    from headcount.ablation.job import task_metric
    from headcount.ablation.summary import metric_name
    from headcount.budgets.training_texts import find_training, training_texts
    from headcount.choosing.halves import read_halves
    from headcount.cli.progress import show_progress
    from headcount.pruning.held_out import HeldOut
    from headcount.pruning.recover import recover
    from headcount.story.cuts import recovery_sentence

    selection, rest = read_halves(data, task, limit, seed, tokenizer)
    scored_by = task_metric(task, metric)
    held_out = HeldOut.read(whole, tokenizer, rest, task, scored_by, max_length, seed)
    outputs = [held_out.outputs(whole), held_out.outputs(smaller)]
    lessons = training_texts(data, train, task, tokenizer, selection, seed, most=None)
    options = {**trained, "seed": seed, "max_length": max_length, "out": state}
    with checked_training(trained), show_progress("recover", "steps") as progress:
        recover(smaller, tokenizer, lessons, task=task, progress=progress, **options)
    outputs.append(held_out.outputs(smaller))
    forget(state)
    compared = held_out.compare(*outputs, seed=seed)
    before, now = compared.scores
    how = spell_training(trained)
    numbers = (before, now, compared.whole, compared.changes[1])
    if train is None and find_training(data) is None:
        return [recovery_sentence(metric_name(scored_by), how, *numbers)]
    return [recovery_sentence(metric_name(scored_by), how, *numbers, f"{len(lessons):,} training examples")]


def run_stages(
    model: Any,
    tokenizer: Any,
    data: str,
    task: Any,
    chosen_by: dict[str, Any],
    stages: int,
    trained: dict[str, Any],
    state: Path | None,
    metric: str | None,
    **examples: Any,
) -> tuple[Any, list[str]]:
    """Reach a budget in stages; the smaller model and what is said about it."""
    from headcount.ablation.job import task_metric
    from headcount.ablation.summary import metric_name
    from headcount.budgets.budget import Budget
    from headcount.budgets.options import PartOptions, find_length, refuse_orders
    from headcount.budgets.stages import prune_in_stages
    from headcount.cli.progress import show_progress

    refuse_orders(**{key: chosen_by[key] for key in ORDERS if key in chosen_by})
    belongs_to("name", chosen_by.get("name"), "study", chosen_by.get("study"))
    for option in ("steps", "randoms"):
        without_effect(option, chosen_by.get(option), "stages= lead to one model, not to a curve")
    sizes: dict[str, Any] = {key: chosen_by.get(key) for key in ("operations", "weights", "faster", "tolerance")}
    budget = Budget.parse(**sizes)
    names = ("score", "own_labels", "rearrange", "refit", "multiple", "at_least", "batch")
    given = {name: chosen_by[name] for name in names if name in chosen_by}
    given["length"] = find_length(model, chosen_by.get("length"))
    options = PartOptions(chosen_by.get("what") or "heads", budget, **given)
    with checked_training(trained), show_progress("prune", "") as progress:
        staged = prune_in_stages(
            model,
            tokenizer,
            data,
            task,
            options,
            trained,
            stages=stages,
            train=chosen_by.get("train"),
            metric=metric,
            study=chosen_by.get("study"),
            name=chosen_by.get("name"),
            state=state,
            progress=progress,
            **examples,
        )
    forget(state)
    name, shape = metric_name(task_metric(task, metric)), (options.batch, options.length)
    return staged.model, staged_sentences(staged, name, trained, budget.currency, shape)


def staged_sentences(
    staged: Any, metric: str, trained: dict[str, Any], currency: str, shape: tuple[int, int]
) -> list[str]:
    """What is left after the last stage, how fast it is, and its score on the held-out half."""
    from headcount.story.cuts import digits_of
    from headcount.story.names import spell_interval

    numbers, digits = staged.numbers, digits_of(metric)
    shares = ", ".join(f"{100 * share:.0f} %" for share in staged.stages)
    speed = tuple(numbers[key] for key in ("speed", "speed_low", "speed_high"))
    (change,) = staged.scores.changes
    return [
        f"{len(staged.stages)} stages left {shares} of the {currency}, each recovered for {spell_training(trained)}.",
        (
            f"{100 * numbers['operations']:.1f} % of the operations and {100 * numbers['weights']:.1f} % of the "
            f"parameters are left; it is {spell_interval(speed, 2)} times as fast as the whole model (quartiles), "
            f"measured at batch {shape[0]}, length {shape[1]}."
        ),
        (
            f"On the held-out half {metric} changes by {spell_interval(change, digits, signed=True)} from "
            f"{spell_interval(staged.scores.whole, digits)}."
        ),
    ]


def spell_training(trained: dict[str, Any]) -> str:
    """`100 steps with the whole model as the teacher and LoRA (rank 16)`."""
    from headcount.cli.options import spell_lora

    teacher = " with the whole model as the teacher" if trained.get("teacher") is not None else ""
    return f"{trained['max_steps']} steps{teacher}{spell_lora(trained['lora'], trained['lora_rank'])}"


@contextmanager
def checked_training(trained: dict[str, Any]) -> Iterator[None]:
    """A training that diverges ends with one line that says what to change."""
    from headcount.pruning.recover import find_rate

    try:
        yield
    except (TrainingDiverged, NotFinite) as error:
        rate = find_rate(trained["learning_rate"], trained["lora"])
        raise TrainingDiverged(
            f"the recovery diverged and nothing was saved ({error}); give a lower learning_rate= than {rate:g}"
        ) from error


def forget(state: Path | None) -> None:
    """Remove the state of a training that has ended."""
    if state is not None and state.is_dir():
        shutil.rmtree(state)
