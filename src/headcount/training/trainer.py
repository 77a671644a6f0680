"""transformers' Trainer for a run: batches of similar length, light checkpoints, a stop at a loss that is NaN."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.utils.data import Sampler
from transformers import PreTrainedModel, PrinterCallback, Trainer, TrainerCallback, TrainingArguments, integrations

from headcount.core.options import belongs_to
from headcount.core.renamed import renamed
from headcount.data.batches import collate
from headcount.data.kinds.tokens import Encoding, length
from headcount.data.number_options import check_all
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption, NotFinite, TrainingDiverged
from headcount.models.finite_weights import check_weights
from headcount.models.progress_bars import no_progress_bar
from headcount.models.sentence_files import write_sentence_files

EARLIER = {
    "batch": "per_device_train_batch_size",
    "epochs": "num_train_epochs",
    "rate": "learning_rate",
    "warm_up": "warmup_steps",
    "decay": "weight_decay",
    "accumulate": "gradient_accumulation_steps",
    "precision": "dtype",
    "save_every": "save_steps",
}
"""Earlier names of settings, which older runs on disk have."""


@dataclass(frozen=True)
class Settings:
    """How a model is trained, with the names of transformers' TrainingArguments; the defaults are the papers'.

    `warmup_steps`: their number, or below 1 their share of all steps. `dtype`: that of the passes. `checkpoints`: the
    number of models to save along the way, spaced evenly or logarithmically (`spacing`).
    """

    per_device_train_batch_size: int = 32
    num_train_epochs: float = 3
    learning_rate: float = 2e-5
    warmup_steps: float = 0.1
    weight_decay: float = 0.0
    max_length: int = 128
    gradient_accumulation_steps: int = 1
    dtype: str = "float32"
    checkpoints: int = 0
    spacing: str = "even"
    save_steps: int = 500
    report_to: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)
    """Further TrainingArguments, by name."""

    def check(self) -> None:
        check_all(vars(self))
        if self.spacing not in ("even", "log"):
            raise InvalidOption(f"got spacing={self.spacing!r}; expected even or log")
        belongs_to("spacing", self.spacing != "even", "checkpoints", self.checkpoints or None)
        known = {"all", "none", *integrations.integration_utils.INTEGRATION_TO_CALLBACK}
        unknown = [name for name in self.report_to if name not in known]
        if unknown:
            raise InvalidOption(
                f"got the tracker {unknown[0]!r} in report_to=; expected some of {', '.join(sorted(known))}"
            )
        if self.dtype not in ("float32", "bfloat16", "float16"):
            raise InvalidOption(f"got dtype={self.dtype!r}; expected float32, bfloat16 or float16")


Settings.__init__ = renamed(**{old: f"{new}=" for old, new in EARLIER.items()})(Settings.__init__)  # type: ignore[method-assign]


def checkpoint_steps(count: int, total: int, spacing: str) -> list[int]:
    """`count` steps of a training of `total`, the last one included, evenly or logarithmically spaced.

    >>> checkpoint_steps(4, 100, "even"), checkpoint_steps(4, 1000, "log")
    ([25, 50, 75, 100], [1, 10, 100, 1000])
    """
    if not count:
        return []
    steps = np.geomspace(1, total, count) if spacing == "log" and count > 1 else np.linspace(0, total, count + 1)[1:]
    return sorted({max(1, round(step)) for step in steps})


class LikeLengths(Sampler[int]):
    """Samples examples so that neighbours are of similar length, in an order that depends on seed and epoch alone.

    transformers' own sampler draws a new order when a training resumes in the middle of an epoch: some examples would
    come twice, others never.
    """

    BATCHES = 50
    """The number of batches among which examples are sorted by length."""

    def __init__(self, lengths: Sequence[int], batch: int, seed: int) -> None:
        self.lengths, self.batch, self.seed, self.epoch = np.asarray(lengths), batch, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self.seed, self.epoch])
        order = rng.permutation(len(self.lengths))
        size = self.batch * self.BATCHES
        for start in range(0, len(order), size):
            part = order[start : start + size]
            yield from part[np.argsort(-self.lengths[part], kind="stable")].tolist()


class RunTrainer(Trainer):  # type: ignore[misc]
    """Stops at the first loss that is not finite; what was saved before is kept."""

    def _get_train_sampler(self, *_: Any, **__: Any) -> LikeLengths:
        lengths = [length(row) for row in self.train_dataset]
        return LikeLengths(lengths, self.args.train_batch_size * self.args.gradient_accumulation_steps, self.args.seed)

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        try:
            super()._save_checkpoint(*args, **kwargs)
        except (OSError, SafetensorError, RuntimeError) as error:
            # For a full disk torch reports only a broken stream.
            shutil.rmtree(Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}", ignore_errors=True)
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise OSError(
                errno.EIO, f"the state at step {self.state.global_step} could not be saved ({reason})"
            ) from error

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        loss: Tensor = super().training_step(*args, **kwargs)
        if not bool(torch.isfinite(loss)):
            raise TrainingDiverged(
                f"the loss is {float(loss)} at step {self.state.global_step + 1}: lower the learning rate, "
                f"now {self.args.learning_rate:g}"
            )
        return loss


def check_trained(model: PreTrainedModel, rate: float) -> None:
    """An error where weights are not finite after a training: no loss shows what its last step did."""
    try:
        check_weights(model)
    except NotFinite as error:
        raise TrainingDiverged(f"the training diverged ({error}): lower the learning rate, now {rate:g}") from error


class LightCheckpoints(TrainerCallback):  # type: ignore[misc]
    """Saves model and tokenizer, without the optimizer's state, at chosen steps: `step-000123`."""

    def __init__(self, folder: Path, steps: Sequence[int], tokenizer: Any) -> None:
        self.folder, self.steps, self.tokenizer = folder, set(steps), tokenizer

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        path = self.folder / f"step-{state.global_step:06d}"
        if state.global_step in self.steps and not path.exists():
            check_trained(model, args.learning_rate)
            save_whole(model, self.tokenizer, path)


class StepProgress(TrainerCallback):  # type: ignore[misc]
    """Reports the number of steps that are done."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.progress(state.global_step, state.max_steps)

    on_step_end = on_train_begin


def save_whole(model: PreTrainedModel, tokenizer: Any, path: Path) -> None:
    """Save a model and its tokenizer to a folder that is absent or complete at any moment."""
    new = path.with_name(f".{path.name}-new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        with no_progress_bar():
            model.save_pretrained(new)
            tokenizer.save_pretrained(new)
            write_sentence_files(model, new)
        new.replace(path)
    except SafetensorError as error:
        raise OSError(errno.EIO, str(error).splitlines()[0]) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def make_trainer(
    model: PreTrainedModel,
    tokenizer: Any,
    rows: list[Encoding],
    folder: Path,
    settings: Settings,
    seed: int,
    build: Callable[..., RunTrainer] = RunTrainer,
) -> RunTrainer:
    """A Trainer over the rows; texts of similar length share a batch, padded to the longest of them.

    `build`: makes it, where the loss is another one than the model's own.
    """
    padding = tokenizer.pad_token_id or 0
    # With label smoothing the Trainer computes the loss, and the model is not given the labels to shift.
    smoothed = settings.more.get("label_smoothing_factor", 0) > 0
    shifted = getattr(model, "prepare_decoder_input_ids_from_labels", None) if smoothed else None

    def collate_rows(rows: Sequence[Encoding]) -> dict[str, Tensor]:
        batch = collate(rows, padding)
        if shifted is not None and "labels" in batch:
            batch["decoder_input_ids"] = shifted(batch["labels"])
        return {key: tensor.float() if tensor.dtype == torch.float64 else tensor for key, tensor in batch.items()}

    options: dict[str, Any] = {
        "output_dir": str(folder),
        "per_device_train_batch_size": settings.per_device_train_batch_size,
        "num_train_epochs": settings.num_train_epochs,
        "learning_rate": settings.learning_rate,
        "warmup_steps": settings.warmup_steps,
        "weight_decay": settings.weight_decay,
        "gradient_accumulation_steps": settings.gradient_accumulation_steps,
        "seed": seed,
        "data_seed": seed,
        "save_strategy": "steps",
        "save_steps": settings.save_steps,
        "save_total_limit": 1,
        "logging_steps": 50,
        "report_to": list(settings.report_to),
        "remove_unused_columns": False,
        "disable_tqdm": True,
        "bf16": settings.dtype == "bfloat16",
        "fp16": settings.dtype == "float16",
        "dataloader_pin_memory": torch.cuda.is_available(),
        "use_cpu": model.device.type == "cpu",
    }
    arguments = TrainingArguments(**options | settings.more)
    try:
        trainer = build(model=model, args=arguments, train_dataset=rows, data_collator=collate_rows)
    except (ValueError, ImportError, RuntimeError) as error:
        raise InvalidOption(f"the Trainer refuses these options: {str(error).splitlines()[0]}") from error
    trainer.remove_callback(PrinterCallback)  # it prints a line for every report
    return trainer
