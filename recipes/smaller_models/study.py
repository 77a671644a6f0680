"""What does a smaller model lose? Heads, units and both to several budgets, beside random parts, and after a recovery.

One fine-tuned model or language model; all in memory, so that it runs where no study can be written. A row is a
smaller model with its change on the held-out half of `--data`; scores, refit and recovery come from `--train` alone.
"""

import argparse
import copy
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import headcount as hc
from headcount.ablation.job import task_metric
from headcount.budgets.choose_parts import PartChoice
from headcount.choosing.halves import read_halves
from headcount.data.tasks import find_task
from headcount.pruning.held_out import HeldOut
from headcount.training.finetune import finetune
from headcount.training.trainer import Settings
from recipes.pruned_llm.passages import read_passages


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--task", default="sst2", help="a GLUE task, or causal-lm")
    parser.add_argument("--data", type=Path, required=True, help="folder with a parquet file for each split")
    parser.add_argument("--train", default="train", help="the split that scores, refits and trains")
    parser.add_argument("--evaluate", default="validation", help="the split whose halves select and evaluate")
    parser.add_argument("--limit", type=int, help="of the examples of both halves together")
    parser.add_argument("--epochs", type=float, default=0, help="fine-tune first; 0: the model is fine-tuned already")
    parser.add_argument("--examples", type=int, help="of the fine-tuning")
    parser.add_argument("--rate", type=float, default=8e-5, help="learning rate of the fine-tuning")
    parser.add_argument("--what", nargs="*", default=["both"], choices=("heads", "units", "both"))
    parser.add_argument("--operations", nargs="*", type=float, default=[50], help="percent that are left")
    parser.add_argument("--budgets", nargs="*", help="instead of --what x --operations, such as heads:88 both:50")
    parser.add_argument("--refit", nargs="*", default=["weights"], choices=("weights", "scales", "none"))
    parser.add_argument("--randoms", type=int, default=1)
    parser.add_argument("--recover", type=int, nargs="*", default=[], help="numbers of steps, one model for each")
    parser.add_argument("--recover-rate", type=float, default=5e-5)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--passages", type=int, default=128, help="of a language model's training text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, required=True, help="a folder for the tables and the fine-tuned model")
    given = parser.parse_args(words)
    given.out.mkdir(parents=True, exist_ok=True)
    study = Study(given)
    budgets = [budget.split(":") for budget in given.budgets or []]
    for what, operations in budgets or [(what, share) for what in given.what for share in given.operations]:
        for refit in given.refit:
            study.measure(what, float(operations), refit)


class Study:
    """A model, the texts that score, refit and train it, and the halves that select and evaluate."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.task = given, find_task(given.task)
        self.rows: list[dict[str, Any]] = []
        folder = fine_tuned(given) if given.epochs else given.model
        self.model, self.tokenizer = hc.load(folder)
        self.model = self.model.float().to(given.device)
        self.train, self.examples = (self.read(split) for split in (given.train, given.evaluate))
        metric = task_metric(self.task, None)
        _, half = read_halves(self.examples, self.task, given.limit, given.seed, self.tokenizer)
        self.held_out = HeldOut.read(self.model, self.tokenizer, half, self.task, metric, given.max_length, given.seed)
        self.whole = self.held_out.outputs(self.model)

    def read(self, split: str) -> pd.DataFrame:
        table = pd.read_parquet(self.given.data / f"{split}.parquet")
        if self.task.name != "causal-lm":
            return table
        count = self.given.passages if split == self.given.train else self.given.limit or 48
        return read_passages(table, self.tokenizer, self.given.max_length, count)

    def measure(self, what: str, operations: float, refit: str) -> None:
        """Cut to one budget, and train the result for each number of steps; a row each."""
        given, start = self.given, time.monotonic()
        choice = hc.choose(
            self.model,
            self.tokenizer,
            self.examples,
            task=self.task,
            what=what,
            operations=f"{operations:g}%",
            refit=refit,
            own_labels=True,
            steps=1,
            randoms=given.randoms,
            train=self.train,
            limit=given.limit,
            seed=given.seed,
            max_length=given.max_length,
            length=given.max_length,
        )
        assert isinstance(choice, PartChoice)
        assert choice.model is not None
        row = {"model": given.model, "task": given.task, "what": what, "asked": operations, "refit": refit}
        row |= read_row(choice) | {"recovered": 0, "seconds": time.monotonic() - start}
        self.write(row)
        for steps in given.recover:
            start, smaller = time.monotonic(), copy.deepcopy(choice.model)
            options: dict[str, Any] = {"max_steps": steps, "learning_rate": given.recover_rate, "seed": given.seed}
            options |= {"max_length": given.max_length, "teacher": self.model}
            hc.recover(smaller, self.tokenizer, self.train, task=self.task, **options)
            compared = self.held_out.compare(self.whole, self.held_out.outputs(smaller), seed=given.seed)
            trained = {
                "score": compared.scores[0],
                **dict(zip(("change", "low", "high"), compared.changes[0], strict=True)),
            }
            self.write(row | trained | {"recovered": steps, "seconds": time.monotonic() - start})

    def write(self, row: dict[str, Any]) -> None:
        self.rows.append(row | {"machine": machine(self.given.device)})
        (self.given.out / "rows.json").write_text(json.dumps(self.rows, indent=1))
        print(json.dumps({key: value for key, value in row.items() if key != "parts"}), flush=True)


def fine_tuned(given: argparse.Namespace) -> Path:
    """The folder of the model, fine-tuned on the first of the training examples that were asked for."""
    settings = Settings(num_train_epochs=given.epochs, learning_rate=given.rate, max_length=given.max_length)
    finetune(
        given.model,
        [given.task],
        given.data,
        given.out / "runs",
        init=["pretrained"],
        settings=settings,
        limit=given.examples,
        device=given.device,
    )
    (folder,) = given.out.glob(f"runs/{given.task}/pretrained/seed-*/model")
    return folder


def read_row(choice: PartChoice) -> dict[str, Any]:
    """The smaller model on the held-out half, and the mean of the random ones there."""
    found = choice.held_out.isel(step=choice.step)
    own = found.sel(order=choice.order)
    random = found.isel(order=[str(order).startswith("random") for order in found["order"].values])
    return {
        "operations": float(own["operations"]),
        "parameters": float(own["weights"]),
        "heads": int(np.nansum(own["heads_left"])),
        "units": int(np.nansum(own["units_left"])),
        "whole": float(own["baseline"]),
        "score": float(own["score"]),
        "change": float(own["delta"]),
        "low": float(own["low"]),
        "high": float(own["high"]),
        "random_change": float(np.nanmean(random["delta"])) if random.sizes["order"] else None,
        "speed": [float(own[key]) for key in ("speed_low", "speed", "speed_high")],
        "parts": str(choice.parts),
    }


def machine(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"


if __name__ == "__main__":
    main()
