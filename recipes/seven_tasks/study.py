"""What do the heads of the seven fine-tuned models do, what has fine-tuning changed, and which are needed?

Takes, for each task, the fine-tuned model of the median seed, and writes one table of numbers for each question.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import xarray as xr

import headcount as hc
from headcount.core.results import as_table
from headcount.data.tasks import find_task
from headcount.models.load import load_model, load_tokenizer
from headcount.training.splits import read_splits

KEPT = ("features", "special", "repeated")
QUESTIONS = ("sweep", "compare", "measure", "patterns")


def median_run(runs: Path, task: str) -> Path:
    """The model of the seed whose score is the median (the lower one of two)."""
    found = []
    for result in sorted((runs / task / "pretrained").glob("seed-*/result.json")):
        scores = json.loads(result.read_text())["scores"]
        found.append((next(iter(scores.values())), result.parent / "model"))
    return sorted(found)[(len(found) - 1) // 2][1]


def plain(dataset: xr.Dataset) -> dict[str, Any]:
    """The attributes and single numbers of a result, for JSON."""
    numbers = {name: float(value) for name, value in dataset.items() if value.ndim == 0 and value.dtype.kind in "fi"}
    return {**{key: value for key, value in dataset.attrs.items() if key != "versions"}, **numbers}


class Tables:
    """Rows of several results, each with the names of its task and model, written when they are complete."""

    def __init__(self, out: Path) -> None:
        self.out, self.rows = out, {}

    def add(self, kind: str, dataset: xr.Dataset, **names: str) -> None:
        self.put(kind, as_table(dataset), **names)

    def put(self, kind: str, table: pd.DataFrame, **names: str) -> None:
        self.rows.setdefault(kind, []).append(table.assign(**names))
        pd.concat(self.rows[kind]).to_csv(self.out / f"{kind}.csv", index=False)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="the pre-trained model")
    parser.add_argument("--data", type=Path, required=True, help="a folder with a folder for each task")
    parser.add_argument("--trained", type=Path, required=True, help="what train.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"])
    parser.add_argument("--limit", type=int, default=2000, help="validation examples of a sweep at most")
    parser.add_argument("--texts", type=int, default=1000, help="texts of a measurement at most")
    parser.add_argument("--questions", nargs="+", default=list(QUESTIONS), choices=QUESTIONS, help="all by default")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    tables, stories = Tables(options.out), {}
    before, tokenizer = load_model(options.model, dtype=torch.float32).to(options.device), load_tokenizer(options.model)
    tagger = options.trained / "tagger" / "token-classification" / "pretrained" / "seed-0" / "model"
    for name in options.tasks:
        start = time.monotonic()
        task = find_task(name)
        folder = median_run(options.trained / "runs", name)
        splits = read_splits(task, options.data)
        tuned = load_model(folder, head=task.kind, dtype=torch.float32).to(options.device)
        for by in ("head", "layer") if "sweep" in options.questions else ():
            found = hc.sweep(
                tuned, tokenizer, splits.validation, task=splits.task, by=by, limit=options.limit, max_length=128
            )
            tables.add(f"sweep-{by}", found, task=name)
            stories[f"{name} {by}"] = plain(found)
        texts = splits.validation[list(task.columns(splits.validation))]
        limits = {"limit": options.texts, "max_length": 128}
        shared = {**limits, "tagger": tagger}
        if "compare" in options.questions:
            changed = hc.compare(before, tuned, tokenizer, texts, **shared)
            for kind, node in changed.children.items():
                if kind in ("cosine", *KEPT):
                    tables.add(f"change-{kind}", node.to_dataset(), task=name)
        asked = [one for one in KEPT if one != "repeated" or len(texts.columns) == 2]
        for which, model in (("before", before), ("after", tuned)):
            if "measure" in options.questions:
                measured = hc.measure(model, tokenizer, texts, only=asked, **shared)
                for kind, node in measured.children.items():
                    tables.add(f"measure-{kind}", node.to_dataset(), task=name, model=which)
            if "patterns" in options.questions:
                found = hc.measure(model, tokenizer, texts, only="patterns", **limits)["patterns"].to_dataset()
                tables.add("patterns", found[["mostly", "sure"]], task=name, model=which)
                whole = found[[f"whole_share{end}" for end in ("", "_low", "_high")]].to_dataframe().reset_index()
                tables.put("patterns-shares", whole, task=name, model=which)
        (options.out / "stories.json").write_text(json.dumps(stories, indent=1, default=str))
        print(name, folder, f"{time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
