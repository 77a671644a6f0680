"""How good is a model on seven tasks, untrained, from random weights, and fine-tuned? A table of runs, and the models.

Also trains the tagger whose parts of speech and roles the measures need (silver tags), on a treebank.
"""

import argparse
import json
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from headcount.data.tasks import find_task
from headcount.training.finetune import finetune, summarise_runs
from headcount.training.trainer import Settings

TASKS = ("qqp", "qnli", "mnli", "stsb", "mrpc", "rte")  # the longest first: they decide when all are done
LARGE = ("sst2",)  # 67,349 examples: one epoch is enough
INITS = ("pretrained", "random", "none")
ROLES = ("nsubj", "csubj", "expl", "obj", "iobj")


def silver_tags(treebank: Path, out: Path) -> Path:
    """The treebank's splits with one tag a word: its part of speech and, for subjects and objects, its relation."""
    out.mkdir(parents=True, exist_ok=True)
    known: set[str] = set()
    for split in ("train", "validation"):
        table = pd.read_parquet(treebank / f"{split}.parquet")
        tags = [
            [
                f"{word}:{relation.split(':')[0]}" if relation.split(":")[0] in ROLES else word
                for word, relation in zip(upos, deprels, strict=True)
            ]
            for upos, deprels in zip(table.upos, table.deprels, strict=True)
        ]
        known = known or set().union(*tags)
        tags = [[tag if tag in known else tag.split(":")[0] for tag in row] for row in tags]
        pd.DataFrame({"tokens": table.tokens, "tags": tags}).to_parquet(out / f"{split}.parquet")
    return out


def gather(out: Path) -> pd.DataFrame:
    """One row for each run that is done, whichever call did it: `runs.csv`, the material of Table 1."""
    rows = []
    for file in sorted(out.glob("runs/*/*/seed-*/result.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        rows.append(
            {
                "task": file.parents[2].name,
                "init": file.parents[1].name,
                "seed": file.parent.name[5:],
                **found["scores"],
                "failed": found["failed"],
                "steps": found["steps"],
                "seconds": found["seconds"],
            }
        )
    table = pd.DataFrame(rows)
    table.to_csv(out / "runs.csv", index=False)
    return table


def train(options: argparse.Namespace, tasks: tuple[str, ...], epochs: float, jobs: int) -> None:
    """The runs of some tasks."""
    settings = Settings(num_train_epochs=epochs, learning_rate=options.rate, dtype=options.precision, save_steps=2000)
    table = finetune(
        options.model,
        tasks,
        options.data,
        options.out / "runs",
        init=options.inits,
        seeds=options.seeds,
        settings=settings,
        limit=options.limit,
        jobs=jobs,
        device=options.device,
    )
    print(summarise_runs(table).to_string(), flush=True)


def train_tagger(options: argparse.Namespace) -> None:
    data = silver_tags(options.treebank, options.out / "silver")
    settings = Settings(learning_rate=options.rate * 2, dtype=options.precision, save_steps=2000)
    table = finetune(
        options.model,
        [find_task("token-classification")],
        data,
        options.out / "tagger",
        settings=settings,
        limit=options.limit,
        device=options.device,
    )
    print(table.to_string(), flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="a folder written by save_pretrained")
    parser.add_argument("--data", type=Path, required=True, help="a folder with a folder for each task")
    parser.add_argument("--treebank", type=Path, help="UD English EWT as train.parquet and validation.parquet")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=[*TASKS, *LARGE])
    parser.add_argument("--inits", nargs="+", default=INITS)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--jobs", type=int, nargs=2, default=(9, 3), help="side by side: the six tasks, SST-2")
    parser.add_argument("--device")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    context = get_context("spawn")
    groups = [(TASKS, options.epochs, options.jobs[0]), (LARGE, options.epochs / 3, options.jobs[1])]
    parts = []
    for names, epochs, jobs in groups:
        asked = tuple(name for name in names if name in options.tasks)
        if asked:
            parts.append(context.Process(target=train, args=(options, asked, epochs, jobs)))
    if options.treebank:
        parts.append(context.Process(target=train_tagger, args=(options,)))
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    gather(options.out)
    if any(part.exitcode for part in parts):
        raise SystemExit("some runs failed; what they said is above; the same command goes on")


if __name__ == "__main__":
    main()
