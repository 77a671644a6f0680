"""Fine-tuning after a cut: a few steps on the task, so that the heads that are left take over."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from transformers import PreTrainedModel

from headcount.ablation.job import check_classifier
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.tasks import Task
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption
from headcount.models.longest import longest_input
from headcount.models.progress_bars import no_progress_bar
from headcount.training.run import known_rows
from headcount.training.trainer import Settings, ToldSteps, check_trained, make_trainer


def recover(
    model: PreTrainedModel,
    tokenizer: Any,
    table: pd.DataFrame,
    task: Task,
    steps: int,
    *,
    rate: float = 2e-5,
    batch: int = 32,
    seed: int = 0,
    max_length: int | None = None,
    progress: Progress | None = None,
) -> PreTrainedModel:
    """The pruned model trained on for so many steps, in place: on examples that will not score it."""
    if steps < 1:
        raise InvalidOption(f"got {steps} steps to recover; expected at least 1")
    check_classifier(model, task)
    examples = read_examples(table, task, getattr(model.config, "id2label", None), tokenizer=tokenizer)
    rows = known_rows(model, encode(examples, tokenizer, longest_input(model, tokenizer, max_length), seed))
    settings = Settings(batch=min(batch, len(rows)), rate=rate, more={"max_steps": steps, "save_strategy": "no"})
    settings.check()
    with tempfile.TemporaryDirectory() as place, no_progress_bar():
        trainer = make_trainer(model, tokenizer, rows, Path(place), settings, seed)
        if progress is not None:
            trainer.add_callback(ToldSteps(progress))
        trainer.train()
    check_trained(model, rate)
    return model.eval()
