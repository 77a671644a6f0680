"""Fine-tune a model over tasks, initialisations and seeds, as in Kovaleva's Table 1."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from headcount.core.options import no_repeats, without_effect
from headcount.core.renamed import renamed
from headcount.data.in_memory import InMemory
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task, find_task
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.progress import Progress
from headcount.errors import CannotWrite, InvalidOption, cannot_write
from headcount.models.device import find_device
from headcount.training.models import INITS, load_text_tokenizer
from headcount.training.perform_all import perform_all
from headcount.training.run import TrainingRun, perform_run
from headcount.training.splits import read_splits
from headcount.training.trainer import Settings


@renamed(inits="init=")
@takes_engine
def finetune(
    model: str | Path,
    tasks: Iterable[str | Task] | str,
    data: str | Path | InMemory | None,
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
    engine: str | Ray | None = None,
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
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
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
    loaded = load_text_tokenizer(model, tokenizer, trust_remote_code)
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
        results = perform_all(runs, perform_run, jobs, progress)
        table = pd.DataFrame([_row(run, result) for run, result in zip(runs, results, strict=True)])
        table.attrs["notes"] = notes
        table.to_csv(Path(out) / "runs.csv", index=False)
    except OSError as error:
        raise CannotWrite(cannot_write(out, error)) from error
    return table


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
