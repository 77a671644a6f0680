"""Fine-tuning after a cut: a few steps on labels or with a teacher, so that what is left takes over."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, find_known_task, read_data
from headcount.core.options import belongs_to
from headcount.core.provenance import fingerprint
from headcount.core.renamed import renamed
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.progress import Progress
from headcount.errors import UnsuitableModel
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.fingerprint import model_fingerprint
from headcount.models.longest import longest_input
from headcount.models.plain_weights import check_plain
from headcount.models.progress_bars import no_progress_bar
from headcount.pruning.lora import LEARNING_RATE as LORA_RATE
from headcount.pruning.lora import RANK, adapters, check_lora
from headcount.pruning.recovery_folder import SaveOften, load_finished, save_finished, state_folder
from headcount.pruning.teacher import TaughtTrainer, find_teacher
from headcount.training.kind_trainer import trainer_for
from headcount.training.run import known_rows
from headcount.training.run_folder import last_checkpoint
from headcount.training.trainer import Settings, StepProgress, check_trained, make_trainer

RATE = 2e-5


@renamed(steps="max_steps=", batch="per_device_train_batch_size=", rate="learning_rate=")
@takes_compiled
def recover(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    teacher: PreTrainedModel | None = None,
    temperature: float | None = None,
    hidden: bool = False,
    max_steps: int = 100,
    learning_rate: float | None = None,
    lora: bool = False,
    lora_rank: int | None = None,
    per_device_train_batch_size: int = 32,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> PreTrainedModel:
    """The pruned model fine-tuned for `max_steps` steps, in place; returns the model.

    `data` and `task` as for `sweep`: examples that will not evaluate it, such as the half that selected the heads
    (`headcount prune --recover`). `teacher`: the whole model, whose outputs are then what is learned; labels are not
    read. Probabilities are compared at `temperature` (2 by default); with `hidden`, so are the hidden states after
    every layer. `lora`: train adapters of this rank (`lora_rank`, 16 by default) for the projections inside the layers
    instead of all weights, and merge them into the weights at the end; needs peft. `learning_rate`: 2e-5 by default,
    2e-4 for adapters; after a `refit` much more than 5e-5 does harm. `out`: a folder for the state of the training,
    with which the same call resumes. A training whose loss or weights are no longer finite raises `TrainingDiverged`.
    """
    belongs_to("lora_rank", lora_rank, "lora", lora)
    belongs_to("temperature", temperature, "teacher", teacher)
    belongs_to("hidden", hidden, "teacher", teacher)
    rank = RANK if lora_rank is None else lora_rank
    learning_rate = find_rate(learning_rate, lora)
    check_numbers(
        max_steps=max_steps,
        lora_rank=rank,
        learning_rate=learning_rate,
        temperature=temperature,
        per_device_train_batch_size=per_device_train_batch_size,
        limit=limit,
        seed=seed,
        max_length=max_length,
    )
    if lora:
        check_lora()
    check_whole(model, "train it")
    check_plain(model, "train it")
    if model.dtype == torch.float16 and not lora:
        # Small steps are rounded away, and the optimizer's squared gradients are zero: the model gets worse.
        raise UnsuitableModel("the model is in float16, which is too coarse to train; give dtype=float32, or lora=True")
    known = find_known_task(data, task)
    check_classifier(model, known)
    known = known.for_model(model)
    taught = None if teacher is None else find_teacher(teacher, model, known, temperature, hidden)
    named = getattr(model.config, "id2label", None)
    table = read_data(data, known, tokenizer, limit, seed)
    examples = read_examples(table, known, named, limit, seed, tokenizer, labelled=taught is None)
    rows = known_rows(model, encode(examples, tokenizer, longest_input(model, tokenizer, max_length), seed))
    settings = Settings(
        per_device_train_batch_size=min(per_device_train_batch_size, len(rows)),
        learning_rate=learning_rate,
        # Of fewer than ten steps a warm-up would take the first, and of one step all: nothing would be learned.
        warmup_steps=0.1 if max_steps >= 10 else 0,
        more={"max_steps": max_steps, "save_strategy": "no"},
    )
    settings.check()
    folder = None if out is None else Path(out)
    identity: dict[str, Any] = {}
    if folder is not None:
        identity = {
            "model": model_fingerprint(model),
            "teacher": None if taught is None else model_fingerprint(taught.model),
            "temperature": None if taught is None else taught.temperature,
            "hidden": hidden,
            "task": known.name,
            "data": fingerprint([rows]),
            "lora_rank": rank if lora else None,
            "seed": seed,
            **asdict(settings),
        }
        if load_finished(model, folder, identity):
            return model.eval()
    added = adapters(model, rank, seed) if lora else nullcontext()
    with state_folder(folder, identity) as state, no_progress_bar(), added:
        build = trainer_for(known.kind) if taught is None else partial(TaughtTrainer, teacher=taught)
        trainer = make_trainer(model, tokenizer, rows, state, settings, seed, build)
        if folder is not None:
            trainer.add_callback(SaveOften())
        if progress is not None:
            trainer.add_callback(StepProgress(progress))
        trainer.train(resume_from_checkpoint=last_checkpoint(state))
        check_trained(model, learning_rate)
    if folder is not None:
        save_finished(model, folder, identity)
    return model.eval()


def find_rate(learning_rate: float | None, lora: bool) -> float:
    """The given learning rate, or the default of what is trained."""
    if learning_rate is not None:
        return learning_rate
    return LORA_RATE if lora else RATE
