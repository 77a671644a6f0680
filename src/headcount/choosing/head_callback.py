"""Which heads become important, or needed, while a model trains? A callback of transformers' Trainer."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from transformers import Trainer, TrainerCallback

from headcount.ablation.job import Data, prepare_job
from headcount.choosing.estimators import CHOICES
from headcount.choosing.importance import CPU_TOKENS, GPU_TOKENS, padding_of
from headcount.choosing.pace import Pace
from headcount.choosing.training_dynamics import check_place, training_dynamics
from headcount.choosing.training_gates import PRICE, STEPS, TrainingGates
from headcount.choosing.training_importance import TrainingImportance
from headcount.choosing.training_measurement import Measurement, Scene
from headcount.choosing.training_rows import Journal, Row
from headcount.choosing.training_scalars import LOGS, scalars
from headcount.core.options import one_of, without_effect
from headcount.core.provenance import command
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.run import group_name
from headcount.errors import HeadcountError, HeadcountWarning, InvalidOption
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import model_fingerprint
from headcount.models.inner_model import inner_model
from headcount.trace.memory import is_out_of_memory
from headcount.trace.session import check_untouched

WHATS = ("importance", "gates")


class HeadCallback(TrainerCallback):  # type: ignore[misc]
    """Measures all heads every few steps of a training, for the trackers that the Trainer reports to and a study.

        trainer = Trainer(model, arguments, train_dataset=..., processing_class=tokenizer)
        callback = hc.HeadCallback(trainer, validation, task="sst2", study="heads")
        trainer.add_callback(callback)
        trainer.train()
        callback.result["importance"]  # dims (checkpoint, stack, layer, head)

    `data` and `task` as for `hc.importance`: texts with labels, of which `limit` are used, the same ones at every step.
    The training is not disturbed: it ends with the same weights, bit for bit.

    `what`: "importance" is what `hc.importance` gives for the model of that step, by `estimator` ("michel_normed" if
    it is None). "gates" are hard-concrete gates, learned anew each time as by `hc.learn_gates`, with frozen weights: at
    one `price` (0.003 if it is None), with `max_steps` steps (40 if it is None) on each of two halves of the texts,
    whose mean log a gives `gate`, from 0 (the head is given up) to 1. It takes many times as long as importance, so
    there are fewer measurements.

    `every`: the number of steps between two measurements. By default there are about 100, fewer where they would take
    more than 5 % of the training's time; the first and the last step are always measured, whatever that takes.

    `log`: what the trackers get, under `heads/...`. "summary": `agreement` (rank correlation of the importance, or of
    the gates, with that of the measurement before), `stability` (the same between two halves of the examples, for
    comparison), `time_share` (the time of all measurements as a share of the training's own) and `half` (the smallest
    number of heads that have half of the importance) or `kept` (how many gates are above zero). "layers" adds the share
    of each layer, or its mean gate, "heads" also the importance or the gate of each head, "nothing" leaves the trackers
    alone.

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
        what: str = "importance",
        tokenizer: Any = None,
        every: int | None = None,
        limit: int = 32,
        estimator: str | None = None,
        price: float | None = None,
        max_steps: int | None = None,
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
        one_of("log", log, LOGS)
        check_numbers(every=every, limit=limit, max_steps=max_steps, seed=seed, max_length=max_length)
        self.measurement = _measurement(what, estimator, price, max_steps, seed)
        if tokenizer is None and trainer.processing_class is None:
            raise InvalidOption("the Trainer has no processing_class; give it one, or give tokenizer= here")
        _check_parallel(trainer)
        self.trainer, self.data, self.task, self.every, self.limit = trainer, data, task, every, limit
        self.tokenizer = tokenizer if tokenizer is not None else trainer.processing_class
        self.log, self.study, self.name, self.seed, self.max_length = log, study, name, seed, max_length
        self.rows: list[Row] = []
        self.stopped = False
        self._tried = -1  # the last step at which a measurement was made, or failed
        self._scene: Scene | None = None
        self._result: xr.Dataset | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not state.is_world_process_zero:
            return
        self._pace, self.stopped, self._result = Pace(state.max_steps, self.every), False, None
        with self._pace.measuring():
            start = self._set_scene(args, resumed=state.global_step > 0)
            self._journal = self._begin_journal(args, start)
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
        self._tried = self.rows[-1].step if self.rows else -1
        self._measure_if_due(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._measure_if_due(state, last=control.should_training_stop)

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Where a training stops early, the Trainer may load other weights before `on_train_end`."""
        if control.should_training_stop:
            self._measure_if_due(state, last=True)

    on_save = on_epoch_end = on_evaluate

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._scene is None:
            return
        if not args.load_best_model_at_end or state.best_model_checkpoint is None:
            self._measure_if_due(state, last=True)
        elif self._tried != state.global_step and not self.stopped:
            self._warn(
                f"no {self.measurement.what} at step {state.global_step}, where the training stopped: the Trainer has "
                "loaded the best checkpoint instead"
            )
        self._tried = state.global_step  # a later evaluation is of what the model has become
        if self.study is None or not self.rows:
            return
        try:
            self._result = self._finish(self.study)
        except HeadcountError as error:  # the training is over, and its model must not be lost
            self._warn(
                f"the {self.measurement.what} along the training is not in {self.study}: {error}; see callback.result"
            )

    @property
    def result(self) -> xr.Dataset:
        """`importance` and the means behind it, or `gate`, `open` and `log_a`, and `agreement` and `stability`.

        Those of heads have dims (checkpoint, stack, layer, head).
        """
        if self._scene is None or not self.rows:
            raise InvalidOption("nothing was measured yet; train first: trainer.add_callback(...), trainer.train()")
        if self._result is None:
            self._result = self._finish(None)
        return self._result

    def _finish(self, study: str | Path | None) -> xr.Dataset:
        assert self._scene is not None
        with command("headcount.HeadCallback(...)"):
            return training_dynamics(
                self.measurement, self._scene, self.rows, self._journal.start, self.seed, self.limit, study, self.name
            )

    def _set_scene(self, args: Any, resumed: bool) -> str:
        """Read the examples, and refuse what could not be kept at the end; the fingerprint of the model."""
        model = inner_model(self.trainer.model)
        if self.study is not None:
            check_untouched(model)
        job = prepare_job(
            model, self.tokenizer, self.data, self.task, "zero", None, self.limit, self.seed, self.max_length, True
        )
        start = model_fingerprint(model)
        if self.study is not None:
            check_place(self.study, self.name, start, resumed)
        # No more tokens at once than in a batch of the training, which fits into memory.
        most = GPU_TOKENS if input_device(model).type == "cuda" else CPU_TOKENS
        tokens = min(most, args.per_device_train_batch_size * int(job.encodings.lengths.max()))
        self._scene = Scene(job, padding_of(self.tokenizer), tokens)
        return start

    def _begin_journal(self, args: Any, start: str) -> Journal:
        assert self._scene is not None
        job = self._scene.job
        about = {
            "data": job.fingerprint,
            "task": job.task.name,
            **self.measurement.settings(self._scene),
            "limit": self.limit,
            "seed": self.seed,
            "max_length": job.encodings.limit,
            "every": self.every,
            "dtype": str(job.model.dtype),
        }
        file = group_name("heads", self.name) + ".jsonl"
        return Journal(Path(args.output_dir) / file, about, start)

    def _measure_if_due(self, state: Any, last: bool = False) -> None:
        step = state.global_step
        if self._scene is None or self.stopped or step == self._tried or not (last or self._pace.is_due(step)):
            return
        self._tried, before = step, self.rows[-1] if self.rows else None
        with self._pace.measuring():
            row = self._measure(self._scene, step)
        if row is not None:
            self.rows.append(row)
            self._result = None
            self._journal.add(row)
            if self.log != "nothing":
                self.trainer.log(self._scalars(self._scene, row, before))

    def _measure(self, scene: Scene, step: int) -> Row | None:
        """The row of a step; without one, a warning says why: no measurement is worth losing a training."""
        if input_device(scene.job.model).type == "cuda":
            torch.cuda.synchronize()  # the steps of the training that are still queued are not ours
        what = self.measurement.what
        try:
            return self.measurement.row(scene, step)
        except HeadcountError as error:
            self._warn(f"no {what} at step {step}: {error}")
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            self.stopped = True
            self._warn(f"out of memory at step {step}: no {what} from here on; give max_length= or shorter texts")
        return None

    def _scalars(self, scene: Scene, row: Row, before: Row | None) -> dict[str, float]:
        found = scalars(self.measurement, row, before, scene.job.anatomy.layout, self.log)
        if row.step:  # before the first step there is nothing to compare with
            found["time_share"] = self._pace.share
        return {f"{group_name('heads', self.name)}/{key}": value for key, value in found.items()}

    def _warn(self, text: str) -> None:
        warnings.warn(text, HeadcountWarning, stacklevel=2)


def _measurement(
    what: str, estimator: str | None, price: float | None, max_steps: int | None, seed: int
) -> Measurement:
    """What is measured; options of the other measurement are refused."""
    if one_of("what", what, WHATS) == "importance":
        for option, value in (("price", price), ("max_steps", max_steps)):
            without_effect(option, value, "importance is estimated without training gates", 'give what="gates" too')
        return TrainingImportance(one_of("estimator", estimator or "michel_normed", CHOICES))
    without_effect("estimator", estimator, "gates are learned, not estimated")
    if price is not None and not 0 <= price < float("inf"):
        raise InvalidOption(f"got price={price}; expected a price of 0 or more")
    return TrainingGates(PRICE if price is None else float(price), STEPS if max_steps is None else max_steps, seed)


def _check_parallel(trainer: Trainer) -> None:
    """Refuse trainings that spread one model over several processes: none of these has all weights."""
    if getattr(trainer, "is_fsdp_enabled", False) or getattr(trainer, "is_deepspeed_enabled", False):
        raise InvalidOption(
            "the Trainer spreads the model's weights over several processes (FSDP or DeepSpeed); HeadCallback needs "
            "them in one: train with DistributedDataParallel, or use hc.dynamics on saved checkpoints"
        )
