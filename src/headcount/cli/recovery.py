"""The recovery of `headcount prune`: what it is trained on, what is said about it, where its state stands."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headcount.errors import NotFinite, TrainingDiverged


def recover_smaller(
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
    *,
    by_order: bool = False,
) -> list[str]:
    """Train the smaller model, in place; a line with its scores on the held-out half.

    It learns from the training texts or, where heads were removed in an order, from the selection half.
    """
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
    lessons, named = selection, "the selection half"
    if not by_order and (train is not None or find_training(data) is not None):
        lessons = training_texts(data, train, task, tokenizer, selection, seed, most=None)
        named = f"{len(lessons):,} training examples"
    options = {**trained, "seed": seed, "max_length": max_length, "out": state}
    with checked_training(trained):
        with show_progress("recover", "steps") as progress:
            recover(smaller, tokenizer, lessons, task=task, progress=progress, **options)
        outputs.append(held_out.outputs(smaller))
    compared = held_out.compare(*outputs, seed=seed)
    before, now = compared.scores
    numbers = (before, now, compared.whole, compared.changes[1])
    return [recovery_sentence(metric_name(scored_by), spell_training(trained), *numbers, named)]


def spell_training(trained: dict[str, Any]) -> str:
    """`100 steps with LoRA (rank 16) and the whole model as the teacher`."""
    from headcount.cli.options import spell_lora, spell_teacher

    lora = spell_lora(trained["lora"], trained["lora_rank"])
    return f"{trained['max_steps']} steps{lora}{spell_teacher(trained['teacher'] is not None, trained['lora'])}"


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


def remove_state(state: Path | None) -> None:
    """Remove what the recovery of a model that is saved now, or its stages, wrote; all else in the folder stays."""
    from headcount.pruning.recovery_folder import remove_folder

    if state is None or not state.is_dir():
        return
    for stage in state.glob("stage-*"):
        remove_folder(stage)
    for study in state.glob("study-*"):
        shutil.rmtree(study, ignore_errors=True)
    remove_folder(state)
