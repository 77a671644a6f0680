"""Fine-tune a model over tasks, initialisations and seeds, as in Kovaleva's Table 1."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from transformers import PreTrainedTokenizerBase

from headcount.core.options import no_repeats, without_effect
from headcount.core.renamed import renamed
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task, find_task
from headcount.engines.progress import Progress
from headcount.errors import CannotWrite, HeadcountError, InvalidOption, UnsuitableModel, cannot_write
from headcount.models.device import find_device
from headcount.models.load import load_tokenizer
from headcount.training.models import INITS
from headcount.training.run import TrainingRun, perform_run
from headcount.training.splits import read_splits
from headcount.training.trainer import Settings


@renamed(inits="init=")
def finetune(
    model: str | Path,
    tasks: Iterable[str | Task] | str,
    data: str | Path | None,
    out: str | Path,
    *,
    init: str | Iterable[str] = "pretrained",
    seeds: int | Iterable[int] = 1,
    settings: Settings | None = None,
    keep_embeddings: bool = False,
    limit: int | None = None,
    jobs: int = 1,
    device: str | None = None,
    tokenizer: str | Path | None = None,
    trust_remote_code: bool = False,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Train and score every task from every initialisation with every seed: a table with one row for each run.

    `model`: a folder or a hub name; `tokenizer`: the same for its tokenizer, where it has none. `data`: a folder with
    `train.*` and `validation.*`, or with a folder for each task, or a file, of which a fifth is held out for
    validation; None for the hub's GLUE. `init`: some of `none` (scored without training), `random` (N(0, 0.02)),
    `pretrained`. `seeds`: their number, or a list of them. Each run goes to `out/task/init/seed-n` (`model`,
    `checkpoints/step-...`, `result.json`); the same call resumes. `jobs`: the number of runs at the same time, on one
    device. A run whose training score is no better than guessing the largest class is marked `failed`; one whose loss,
    weights or scores are no longer finite raises `TrainingDiverged` and leaves no model.
    """
    settings = settings or Settings()
    settings.check()
    chosen = tasks.split(",") if isinstance(tasks, str) else [tasks] if isinstance(tasks, Task) else list(tasks)
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    inits = init.split(",") if isinstance(init, str) else list(init)
    for number in numbers:
        check_numbers(seed=number)
    if not chosen or not numbers or not inits or jobs < 1:
        raise InvalidOption("nothing to train: expected at least one task, one initialisation, one seed and one job")
    unknown = [name for name in inits if name not in INITS]
    if unknown:
        raise InvalidOption(f"got the initialisation {unknown[0]!r}; expected some of {', '.join(INITS)}")
    no_repeats("tasks", [str(getattr(task, "name", task)) for task in chosen])
    no_repeats("init", inits)
    no_repeats("seeds", numbers)
    if "random" not in inits:
        without_effect("keep_embeddings", keep_embeddings, f"no run starts from random weights ({', '.join(inits)})")
    torch_device = find_device(device or "auto")
    loaded = load_tokenizer(tokenizer or model, trust_remote_code=trust_remote_code)
    if not isinstance(loaded, PreTrainedTokenizerBase):
        raise UnsuitableModel(f"{model} is a model of images ({type(loaded).__name__}); expected one that reads texts")
    runs, notes = [], []
    for name_or_task in chosen:
        task = find_task(name_or_task) if isinstance(name_or_task, str) else name_or_task
        splits = read_splits(task, data, limit, tokenizer=loaded)
        notes += [note for note in splits.notes if note not in notes]
        for start in inits:
            for seed in numbers:
                folder = Path(out) / task.name / start / f"seed-{seed}"
                runs.append(
                    TrainingRun(
                        str(model),
                        splits,
                        start,
                        seed,
                        folder,
                        settings,
                        keep_embeddings,
                        torch_device,
                        trust_remote_code,
                        None if tokenizer is None else str(tokenizer),
                    )
                )
    try:
        results = _perform_all(runs, jobs, progress)
        table = pd.DataFrame([_row(run, result) for run, result in zip(runs, results, strict=True)])
        table.attrs["notes"] = notes
        table.to_csv(Path(out) / "runs.csv", index=False)
    except OSError as error:
        raise CannotWrite(cannot_write(out, error)) from error
    return table


def _perform_all(runs: list[TrainingRun], jobs: int, progress: Progress | None) -> list[dict[str, Any]]:
    finished = [(run.folder / "result.json").is_file() for run in runs]
    done = sum(finished)  # from the start: their time says nothing about that of the others

    def tick(number: int) -> None:
        nonlocal done
        done += not finished[number]
        if progress is not None:
            progress(done, len(runs))

    def steps(reached: float, total: float, _: str = "") -> None:
        if progress is not None:
            progress(done + reached / max(1, total), len(runs))

    if jobs == 1:
        results = []
        for number, run in enumerate(runs):
            results.append(perform_run(run, steps))
            tick(number)
        return results
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        others = set(multiprocessing.active_children())
        with _no_interrupts():
            waiting = {pool.submit(perform_run, run): number for number, run in enumerate(runs)}
        by_number: dict[int, dict[str, Any]] = {}
        try:
            for future in as_completed(waiting):
                by_number[waiting[future]] = future.result()
                tick(waiting[future])
        except (HeadcountError, OSError):
            pool.shutdown(cancel_futures=True)
            raise
        except KeyboardInterrupt:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            raise
    return [by_number[number] for number in range(len(runs))]


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Processes started inside ignore Ctrl-C, which a terminal sends to all of them: their parent ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _row(run: TrainingRun, result: dict[str, Any]) -> dict[str, Any]:
    metric = next(iter(result["scores"]))
    return {
        "task": run.splits.task.name,
        "init": run.init,
        "seed": run.seed,
        "metric": metric,
        "score": result["scores"][metric],
        **{f"score_{name}": value for name, value in result["scores"].items()},
        "training_score": result["training_scores"].get(metric, float("nan")),
        "failed": result["failed"],
        "steps": result["steps"],
        "seconds": result["seconds"],
        "model": str(run.folder / "model") if run.init != "none" else run.model,
    }


def summarise_runs(table: pd.DataFrame) -> pd.DataFrame:
    """Mean, median and spread of the seeds of each task and initialisation, and how many failed."""
    groups = table.groupby(["task", "init", "metric"], sort=False)["score"]
    summary = groups.agg(["mean", "median", "min", "max", "std", "count"]).reset_index()
    failed = table.groupby(["task", "init"], sort=False)["failed"].sum().reset_index()
    return summary.merge(failed, on=["task", "init"])
