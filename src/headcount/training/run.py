"""One training run: a task, an initialisation and a seed, from the model to its scores; resumed after a kill."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.encode import Encodings, encode
from headcount.data.examples import Examples, read_examples
from headcount.engines.progress import Progress
from headcount.errors import NotFinite, TrainingDiverged
from headcount.models.fingerprint import find_origin
from headcount.models.longest import longest_input
from headcount.models.progress_bars import no_progress_bar
from headcount.training.kind_trainer import trainer_for
from headcount.training.models import build_model
from headcount.training.run_folder import OPTIONS, RESULT, SOURCE, finished_result, last_checkpoint, write_json
from headcount.training.scored_sets import score_sets, unscored_sets
from headcount.training.scores import score
from headcount.training.splits import Splits
from headcount.training.trainer import (
    LightCheckpoints,
    Settings,
    StepProgress,
    check_trained,
    checkpoint_steps,
    make_trainer,
    save_whole,
)

MOST_TRAINING = 2000
"""The most training examples that the training score is computed on."""


@dataclass(frozen=True)
class TrainingRun:
    """The options of one run, and its folder."""

    model: str
    splits: Splits
    init: str
    seed: int
    folder: Path
    settings: Settings
    keep_embeddings: bool = False
    device: str = "cpu"
    trust_remote_code: bool = False
    tokenizer: str | None = None
    keep_model: bool = True
    """Whether the trained model is saved, not its scores alone."""

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a run to be resumed."""
        return {
            "model": self.model,
            "task": self.splits.task.name,
            "init": self.init,
            "seed": self.seed,
            "data": self.splits.fingerprint,
            "keep_embeddings": self.keep_embeddings,
            **({} if self.tokenizer is None else {"tokenizer": self.tokenizer}),
            **{key: value for key, value in asdict(self.settings).items() if key not in ("report_to", "save_steps")},
        }


def perform_run(run: TrainingRun, progress: Progress | None = None) -> dict[str, Any]:
    """Train and score, or read the result of a finished run; the model is in `folder/model`, if it is kept."""
    done = finished_result(run.folder, run.identity)
    if done is not None and has_everything(run, done):
        shutil.rmtree(run.folder / "state", ignore_errors=True)  # a kill may have come before
        return done
    start = time.monotonic()
    model, tokenizer = build_model(
        run.model, run.splits, run.init, run.seed, run.keep_embeddings, run.trust_remote_code, run.tokenizer
    )
    model.to(run.device)
    kind = run.splits.task.kind
    if kind.problem_type is not None:
        # A model sets it at its first labels: one that resumes after its last step would be saved without it.
        model.config.problem_type = kind.problem_type
    longest = longest_input(model, tokenizer, run.settings.max_length)
    train, validation = (
        _encoded(run, model, tokenizer, table, longest) for table in (run.splits.train, run.splits.validation)
    )
    write_json(run.folder / OPTIONS, run.identity)
    part = first_examples(train, MOST_TRAINING)
    with _kept_apart_if_diverged(run):
        steps = _train(run, model, tokenizer, train[1], progress) if run.init != "none" else 0
        scores = score(model, tokenizer, *validation), score(model, tokenizer, *part, generate=False)
        sets = score_sets(
            run.splits, lambda table: score(model, tokenizer, *_encoded(run, model, tokenizer, table, longest))
        )
    result: dict[str, Any] = {
        "identity": run.identity,
        SOURCE: None if run.splits.source is None else dict(run.splits.source),
        "steps": steps,
        "seconds": time.monotonic() - start,
        "scores": scores[0],
        "training_scores": scores[1],
        **sets,
        "cut": train[1].cut + validation[1].cut,
        ATTRIBUTE: {"train": dict(train[0].blank), "validation": dict(validation[0].blank)},
        **find_origin(model, run.splits.fingerprint, run.seed).provenance,
    }
    if not run.keep_model:
        result["kept_model"] = False
    result["failed"] = run.init != "none" and kind.has_failed(scores[1], part[0].labels)
    if run.init != "none" and run.keep_model:
        shutil.rmtree(run.folder / "model", ignore_errors=True)
        save_whole(model, tokenizer, run.folder / "model")
    write_json(run.folder / RESULT, result)
    shutil.rmtree(run.folder / "state", ignore_errors=True)
    return result


def has_everything(run: TrainingRun, result: dict[str, Any]) -> bool:
    """Whether the result of a finished run has everything that is asked for."""
    return (result.get("kept_model", True) or not run.keep_model) and not unscored_sets(result, run.splits)


def _encoded(run: TrainingRun, model: Any, tokenizer: Any, table: Any, longest: int) -> tuple[Examples, Encodings]:
    task = run.splits.task.for_model(model)
    examples = read_examples(table, task, getattr(model.config, "id2label", None), tokenizer=tokenizer)
    return examples, encode(examples, tokenizer, longest, run.seed)


def first_examples(split: tuple[Examples, Encodings], most: int) -> tuple[Examples, Encodings]:
    """At most this many examples of a split."""
    examples, encodings = split
    labels = None if examples.labels is None else examples.labels[:most]
    few = Examples(examples.task, examples.ids[:most], examples.texts[:most], labels, examples.notes, examples.blank)
    return few, Encodings(encodings.rows[:most], encodings.lengths[:most], encodings.cut, encodings.limit)


def _train(run: TrainingRun, model: Any, tokenizer: Any, encodings: Encodings, progress: Progress | None) -> int:
    """Train to the end, from the last complete checkpoint if there is one; the number of steps."""
    state = run.folder / "state"
    build = trainer_for(run.splits.task.for_model(model).kind)
    trainer = make_trainer(model, tokenizer, known_rows(model, encodings), state, run.settings, run.seed, build)
    batch_size = run.settings.per_device_train_batch_size * run.settings.gradient_accumulation_steps
    total = math.ceil(math.ceil(len(encodings.rows) / batch_size) * run.settings.num_train_epochs)
    steps = checkpoint_steps(run.settings.checkpoints, total, run.settings.spacing)
    trainer.add_callback(LightCheckpoints(run.folder / "checkpoints", steps, tokenizer))
    if progress is not None:
        trainer.add_callback(StepProgress(progress))
    if steps and not (run.folder / "checkpoints" / "step-000000").exists():
        save_whole(model, tokenizer, _made(run.folder / "checkpoints") / "step-000000")
    with no_progress_bar():
        trainer.train(resume_from_checkpoint=last_checkpoint(state))
    check_trained(model, run.settings.learning_rate)
    return int(trainer.state.global_step)


@contextmanager
def _kept_apart_if_diverged(run: TrainingRun) -> Iterator[None]:
    """Move the state of a run that diverged to `diverged`, so that the folder takes a run with other options."""
    try:
        yield
    except (TrainingDiverged, NotFinite) as error:
        if run.init == "none":
            raise
        (run.folder / OPTIONS).unlink(missing_ok=True)
        shutil.rmtree(run.folder / "diverged", ignore_errors=True)
        if (run.folder / "state").exists():
            (run.folder / "state").replace(run.folder / "diverged")
        rate = (
            ""
            if isinstance(error, TrainingDiverged)
            else f": lower the learning rate, now {run.settings.learning_rate:g}"
        )
        raise TrainingDiverged(f"{error}{rate}; what was saved before is kept in {run.folder}") from error


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def known_rows(model: Any, encodings: Encodings) -> list[dict[str, Any]]:
    """The rows without the inputs that the model does not take: a tokenizer may return more of them.

    Labels stay: of a model without a head, another part of the training reads them.
    """
    import inspect

    known = inspect.signature(model.forward).parameters
    return [{key: value for key, value in row.items() if key in known or key == "labels"} for row in encodings.rows]
