"""Which heads become important while a model trains? A callback of transformers' Trainer."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from transformers import Trainer, TrainerCallback

from headcount.ablation.job import Data, Job, prepare_job
from headcount.choosing.estimators import CHOICES
from headcount.choosing.importance import CPU_TOKENS, GPU_TOKENS, padding_of
from headcount.choosing.pace import Pace
from headcount.choosing.training_dynamics import check_place, training_dynamics
from headcount.choosing.training_rows import Journal, Row, compute_row
from headcount.core.options import one_of
from headcount.core.provenance import command
from headcount.core.statistics import rank_correlation
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.run import group_name
from headcount.errors import HeadcountError, HeadcountWarning, InvalidOption
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import model_fingerprint
from headcount.models.inner_model import inner_model
from headcount.trace.memory import is_out_of_memory
from headcount.trace.session import check_untouched

LOGS = ("summary", "layers", "heads", "nothing")


class HeadCallback(TrainerCallback):  # type: ignore[misc]
    """Computes the importance of all heads every few steps, for the trackers that the Trainer reports to and a study.

        trainer = Trainer(model, arguments, train_dataset=..., processing_class=tokenizer)
        callback = hc.HeadCallback(trainer, validation, task="sst2", study="heads")
        trainer.add_callback(callback)
        trainer.train()
        callback.result["importance"]  # dims (checkpoint, stack, layer, head)

    `data` and `task` as for `hc.importance`: texts with labels, of which `limit` are used, the same ones at every step.
    A measurement is what `hc.importance` gives for the model of that step. The training is not disturbed: it ends with
    the same weights, bit for bit. `every`: the number of steps between two measurements. By default there are about
    100, fewer where they would take more than 5 % of the training's time; the first and the last step are always
    measured.

    `log`: what the trackers get, under `heads/...`. "summary": `agreement` (rank correlation of the importance with
    that of the measurement before), `stability` (the same between two halves of the examples, for comparison), `half`
    (the smallest number of heads that have half of the importance) and `time_share` (the time of all measurements as a
    share of the training's own). "layers" adds the share of each layer, "heads" also the importance of each head,
    "nothing" leaves the trackers alone.

    `study`: a folder that gets one result when the training ends, `pruning/dynamics`, like that of `hc.dynamics`
    without the pruning curves; `result` is the same in memory. Each measurement is also a line of `heads.jsonl` in the
    Trainer's `output_dir`, so that `resume_from_checkpoint` continues with those before the checkpoint. `name`: keeps
    several callbacks of one training apart. `tokenizer`: None for the Trainer's `processing_class`.
    """

    def __init__(
        self,
        trainer: Trainer,
        data: Data,
        *,
        task: str | Task | None = None,
        tokenizer: Any = None,
        every: int | None = None,
        limit: int = 32,
        estimator: str = "michel_normed",
        log: str = "summary",
        study: str | Path | None = None,
        name: str | None = None,
        seed: int = 0,
        max_length: int | None = None,
    ) -> None:
        if not isinstance(trainer, Trainer):
            raise InvalidOption(
                f"got a {type(trainer).__name__} for the trainer; expected transformers' Trainer, made before the "
                "callback: trainer.add_callback(hc.HeadCallback(trainer, data, task=...))"
            )
        one_of("estimator", estimator, CHOICES)
        one_of("log", log, LOGS)
        check_numbers(every=every, limit=limit, seed=seed, max_length=max_length)
        if tokenizer is None and trainer.processing_class is None:
            raise InvalidOption("the Trainer has no processing_class; give it one, or give tokenizer= here")
        _check_parallel(trainer)
        self.trainer, self.data, self.task, self.every, self.limit = trainer, data, task, every, limit
        self.tokenizer = tokenizer if tokenizer is not None else trainer.processing_class
        self.estimator, self.log, self.study, self.name = estimator, log, study, name
        self.seed, self.max_length = seed, max_length
        self.rows: list[Row] = []
        self.stopped = False
        self._job: Job | None = None
        self._result: xr.Dataset | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not state.is_world_process_zero:
            return
        self._pace, self.stopped, self._result = Pace(state.max_steps, self.every), False, None
        with self._pace.measuring():
            model = inner_model(self.trainer.model)
            if self.study is not None:
                check_untouched(model)
            job = prepare_job(
                model, self.tokenizer, self.data, self.task, "zero", None, self.limit, self.seed, self.max_length, True
            )
            start = model_fingerprint(model)
            if self.study is not None:
                check_place(self.study, self.name, start, resumed=state.global_step > 0)
            self._job, longest = job, int(job.encodings.lengths.max())
            # No more tokens at once than in a batch of the training, which fits into memory.
            most = GPU_TOKENS if input_device(model).type == "cuda" else CPU_TOKENS
            self._tokens = min(most, args.per_device_train_batch_size * longest)
            self._journal = self._begin_journal(args, job, start)
            if state.global_step:
                self.rows = self._journal.resume(state.global_step)
            else:
                self._journal.begin()
                self.rows = []
        if state.global_step and (not self.rows or self.rows[0].step):
            warnings.warn(
                f"{self._journal.path} has no measurements of the steps before {state.global_step}, where this "
                "training resumes; the result begins there",
                HeadcountWarning,
                stacklevel=2,
            )
        if not self.rows or self.rows[-1].step < state.global_step:
            self._measure_if_due(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._job is not None:
            self._measure_if_due(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._job is None or self.study is None or not self.rows:
            return
        try:
            self._result = self._finish(self.study)
        except HeadcountError as error:  # the training is over, and its model must not be lost
            self._warn(f"the importance along the training is not in {self.study}: {error}; see callback.result")

    @property
    def result(self) -> xr.Dataset:
        """`importance` and the means behind it with dims (checkpoint, stack, layer, head), `agreement`, `stability`."""
        if self._job is None or not self.rows:
            raise InvalidOption("nothing was measured yet; train first: trainer.add_callback(...), trainer.train()")
        if self._result is None:
            self._result = self._finish(None)
        return self._result

    def _finish(self, study: str | Path | None) -> xr.Dataset:
        assert self._job is not None
        with command("headcount.HeadCallback(...)"):
            return training_dynamics(
                self._job, self.rows, self.estimator, self._journal.start, self.seed, self.limit, study, self.name
            )

    def _begin_journal(self, args: Any, job: Job, start: str) -> Journal:
        about = {
            "data": job.fingerprint,
            "task": job.task.name,
            "estimator": self.estimator,
            "limit": self.limit,
            "seed": self.seed,
            "max_length": job.encodings.limit,
            "every": self.every,
            "dtype": str(job.model.dtype),
        }
        file = group_name("heads", self.name) + ".jsonl"
        return Journal(Path(args.output_dir) / file, about, start)

    def _measure_if_due(self, state: Any) -> None:
        assert self._job is not None
        if self.stopped or not self._pace.is_due(state.global_step):
            return
        with self._pace.measuring():
            row = self._measure(state.global_step)
        if row is not None:
            before = self.rows[-1] if self.rows else None
            self.rows.append(row)
            self._result = None
            self._journal.add(row)
            if self.log != "nothing":
                self.trainer.log(self._scalars(row, before))

    def _measure(self, step: int) -> Row | None:
        """The row of a step; without one, a warning says why: no measurement is worth losing a training."""
        assert self._job is not None
        if input_device(self._job.model).type == "cuda":
            torch.cuda.synchronize()  # the steps of the training that are still queued are not ours
        try:
            return compute_row(self._job, padding_of(self.tokenizer), self.estimator, step, self._tokens)
        except HeadcountError as error:
            self._warn(f"no importance at step {step}: {error}")
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            self.stopped = True
            self._warn(f"out of memory at step {step}: no importance from here on; give max_length= or shorter texts")
        return None

    def _scalars(self, row: Row, before: Row | None) -> dict[str, float]:
        assert self._job is not None
        layout = self._job.anatomy.layout
        scalars = {"stability": row.stability, "half": half(row.importance["michel"])}
        if before is not None:
            pair = (before.importance["importance"].ravel(), row.importance["importance"].ravel())
            scalars["agreement"] = rank_correlation(*pair, draws=1)[0]
        if row.step:  # before the first step there is nothing to compare with
            scalars["time_share"] = self._pace.share
        stacks = {stack: number for number, stack in enumerate(layout.stacks)}
        if self.log in ("layers", "heads"):
            whole = np.nansum(row.importance["michel"])
            for stack, number in stacks.items():
                for layer in range(layout.layers(stack)):
                    share = np.nansum(row.importance["michel"][number, layer]) / whole if whole else 0.0
                    scalars[f"share/{layout.spell_layer(stack, layer)}"] = float(share)
        if self.log == "heads":
            for head in layout:
                value = row.importance["importance"][stacks[head.stack], head.layer, head.head]
                scalars[f"importance/{layout.spell(head)}"] = float(value)
        return {f"{group_name('heads', self.name)}/{key}": value for key, value in scalars.items()}

    def _warn(self, text: str) -> None:
        warnings.warn(text, HeadcountWarning, stacklevel=2)


def half(importance: np.ndarray) -> int:
    """The smallest number of heads that together have half of the importance.

    >>> half(np.array([[0.1, 0.5, np.nan], [0.2, 0.1, 0.1]]))
    1
    """
    values = np.sort(importance[np.isfinite(importance)])[::-1]
    return int(np.searchsorted(np.cumsum(values), values.sum() / 2) + 1) if values.sum() else 0


def _check_parallel(trainer: Trainer) -> None:
    """Refuse trainings that spread one model over several processes: none of these has all weights."""
    if getattr(trainer, "is_fsdp_enabled", False) or getattr(trainer, "is_deepspeed_enabled", False):
        raise InvalidOption(
            "the Trainer spreads the model's weights over several processes (FSDP or DeepSpeed); HeadCallback needs "
            "them in one: train with DistributedDataParallel, or use hc.dynamics on saved checkpoints"
        )
