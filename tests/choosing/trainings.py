"""Short trainings with transformers' Trainer, and what a callback must not change in them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as tf
from transformers.trainer_callback import TrainerCallback

import headcount as hc
from headcount.choosing.head_callback import HeadCallback
from tests.training import toy

DATA = toy.pairs(24, seed=5)
NAMES = {0: "not_equivalent", 1: "equivalent"}


def save_model(folder: Path) -> Path:
    toy.save_checkpoint(folder, tf.BertForSequenceClassification, id2label=NAMES)
    return folder


def make_trainer(folder: Path, out: Path, model: Any = None, **options: Any) -> tf.Trainer:
    """12 steps of 8 pairs, with dropout; where it evaluates, on the same pairs."""
    tf.set_seed(3)
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    model = model or tf.BertForSequenceClassification.from_pretrained(folder)
    table = toy.pairs(32)
    rows = [{**tokenizer(one, two), "labels": label} for one, two, label in table.itertuples(index=False)]
    arguments = {
        "per_device_train_batch_size": 8,
        "num_train_epochs": 3,
        "learning_rate": 5e-3,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "logging_steps": 4,
        "save_strategy": "no",
    } | options
    trainer = tf.Trainer(
        model,
        tf.TrainingArguments(str(out), **arguments),
        train_dataset=rows,
        eval_dataset=rows,
        processing_class=tokenizer,
    )
    trainer.remove_callback(tf.PrinterCallback)
    return trainer


def with_callback(trainer: tf.Trainer, **options: Any) -> HeadCallback:
    callback = hc.HeadCallback(trainer, DATA, **{"task": "mrpc", "every": 3} | options)
    trainer.add_callback(callback)
    return callback


class Draws(TrainerCallback):  # type: ignore[misc]
    """Notes what each random generator would give next, the modes and the gradients, before each step."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        generators = torch.random.get_rng_state().clone(), np.random.get_state()[1].copy(), random.getstate()
        modes = [module.training for module in model.modules()]
        asked = [(parameter.requires_grad, parameter.grad is None) for parameter in model.parameters()]
        self.seen.append((*map(str, (generators[0].tolist(), generators[1].tolist(), generators[2])), modes, asked))


def trained(trainer: tf.Trainer, **options: Any) -> tuple[dict[str, torch.Tensor], list[Any]]:
    draws = Draws()
    trainer.add_callback(draws)
    trainer.train(**options)
    return trainer.model.state_dict(), draws.seen
