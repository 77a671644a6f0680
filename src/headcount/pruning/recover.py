"""Fine-tuning after a cut: a few steps on the task, so that the heads that are left take over."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, find_known_task, read_data
from headcount.core.renamed import renamed
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.progress import Progress
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.longest import longest_input
from headcount.models.progress_bars import no_progress_bar
from headcount.training.run import known_rows
from headcount.training.trainer import Settings, StepProgress, check_trained, make_trainer


@renamed(steps="max_steps=", batch="per_device_train_batch_size=", rate="learning_rate=")
@takes_compiled
def recover(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    max_steps: int = 100,
    learning_rate: float = 2e-5,
    per_device_train_batch_size: int = 32,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    progress: Progress | None = None,
) -> PreTrainedModel:
    """The pruned model fine-tuned for `max_steps` steps, in place; returns the model.

    `data` and `task` as for `sweep`: examples that will not evaluate it, such as the half that selected the heads
    (`headcount prune --recover`). A training whose loss or weights are no longer finite raises `TrainingDiverged`.
    """
    check_numbers(
        max_steps=max_steps,
        learning_rate=learning_rate,
        per_device_train_batch_size=per_device_train_batch_size,
        limit=limit,
        seed=seed,
        max_length=max_length,
    )
    check_whole(model, "train it")
    known = find_known_task(data, task)
    check_classifier(model, known)
    named = getattr(model.config, "id2label", None)
    table = read_data(data, known, tokenizer, limit, seed)
    examples = read_examples(table, known, named, limit, seed, tokenizer)
    rows = known_rows(model, encode(examples, tokenizer, longest_input(model, tokenizer, max_length), seed))
    settings = Settings(
        per_device_train_batch_size=min(per_device_train_batch_size, len(rows)),
        learning_rate=learning_rate,
        # Of fewer than ten steps a warm-up would take the first, and of one step all: nothing would be learned.
        warmup_steps=0.1 if max_steps >= 10 else 0,
        more={"max_steps": max_steps, "save_strategy": "no"},
    )
    settings.check()
    with tempfile.TemporaryDirectory() as folder, no_progress_bar():
        trainer = make_trainer(model, tokenizer, rows, Path(folder), settings, seed)
        if progress is not None:
            trainer.add_callback(StepProgress(progress))
        trainer.train()
    check_trained(model, learning_rate)
    return model.eval()
