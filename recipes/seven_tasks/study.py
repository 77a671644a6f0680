"""What do the heads of the seven fine-tuned models do, what has fine-tuning changed, and which are needed?

Takes, for each task, the fine-tuned model of the median seed, and writes one table of numbers for each question, and
one of findings with the verdict of `recipes.evidence`. Killed, the same command goes on with what is missing.
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import xarray as xr

import headcount as hc
from headcount.core.results import as_table
from headcount.core.statistics import rank_correlation
from headcount.data.tables import read_table
from headcount.data.tasks import find_task
from headcount.models.load import load_model, load_tokenizer
from headcount.training.splits import Splits, read_splits
from recipes.evidence import (
    FAILS,
    HOLDS,
    OPEN,
    Estimate,
    Parts,
    by_layer,
    claim,
    correlation,
    layer_values,
    lead,
    resampled,
)

KEPT = ("features", "special", "repeated")
QUESTIONS = ("sweep", "mismatched", "compare", "measure", "patterns")
LENGTH = 128
Tables = dict[str, list[pd.DataFrame]]


def median_run(runs: Path, task: str) -> Path:
    """The model of the seed whose score is the median (the lower one of two)."""
    found = []
    for result in sorted((runs / task / "pretrained").glob("seed-*/result.json")):
        scores = json.loads(result.read_text())["scores"]
        found.append((next(iter(scores.values())), result.parent / "model"))
    return sorted(found)[(len(found) - 1) // 2][1]


def plain(dataset: xr.Dataset) -> pd.DataFrame:
    """The single numbers of a result as one row."""
    numbers = {name: float(value) for name, value in dataset.items() if value.ndim == 0 and value.dtype.kind in "fi"}
    return pd.DataFrame([{"metric": dataset.attrs["metric"], "examples": dataset.sizes["example"], **numbers}])


class Study:
    """One task: its splits, the model before and after fine-tuning, and the tables that the questions fill."""

    def __init__(self, options: argparse.Namespace, name: str, before: Any, tokenizer: Any) -> None:
        self.options, self.name, self.before, self.tokenizer = options, name, before, tokenizer
        task = find_task(name)
        self.folder = median_run(options.trained / "runs", name)
        self.splits: Splits = read_splits(task, options.data, tokenizer=tokenizer)
        self.tuned = load_model(self.folder, head=task.kind.name, dtype=torch.float32).to(options.device)
        self.texts = self.splits.validation[list(task.columns(self.splits.validation))]
        self.limits = {"limit": options.texts, "max_length": LENGTH}
        tagger = options.trained / "tagger" / "token-classification" / "pretrained" / "seed-0" / "model"
        self.tagged = {**self.limits, "tagger": tagger}
        self.tables: Tables = defaultdict(list)

    def put(self, kind: str, table: pd.DataFrame, **names: str) -> None:
        self.tables[kind].append(table.copy().assign(task=self.name, **names))  # the copy joins loose columns

    def find(self, what: str, found: Estimate, verdict: str | None = None, **more: Any) -> None:
        """A finding by the rule, or with a verdict of its own where many tests decide together."""
        row = claim(what, found, **more)
        self.put("findings", pd.DataFrame([row | ({"verdict": verdict} if verdict else {})]))

    def swept(self, by: str, table: pd.DataFrame, how: str = "uniform") -> xr.Dataset:
        return hc.sweep(
            self.tuned,
            self.tokenizer,
            table,
            task=self.splits.task,
            by=by,
            how=how,
            limit=self.options.limit,
            max_length=LENGTH,
        )

    def sweep(self) -> None:
        """Figures 8 and 9: the score without each head, and without each layer."""
        heads, layers = (self.swept(by, self.splits.validation) for by in ("head", "layer"))
        for kind, found in (("sweep-head", heads), ("sweep-layer", layers)):
            self.put(kind, as_table(found))
            self.put(f"{kind}-whole", plain(found))
        self.find("a random head helps when disabled", estimate(heads, "mean_delta"))
        honest = estimate(heads, "honest_gain")
        gains = HOLDS if sure_gains(heads) else FAILS if honest[2] < 0 else OPEN
        self.find("some head helps when disabled", honest, verdict=gains)
        first = layers.isel(stack=0, layer=0)
        self.find("the first layer helps when disabled", tuple(float(first[key]) for key in ("delta", "low", "high")))
        # Every layer must be shown to lose; one that is shown to gain refutes it.
        best = (float(layers["delta"].max()), float("nan"), float(layers["high"].max()))
        loses = HOLDS if best[2] < 0 else FAILS if sure_gains(layers) else OPEN
        self.find("no layer helps when disabled", best, side="below", verdict=loses)

    def mismatched(self) -> None:
        """Michel's Figure 2: do the effects of heads agree between MNLI's two validation sets? Heads at zero."""
        files = sorted((self.options.data / "MNLI").glob("validation_mismatched*"))
        if self.name != "mnli" or not files:
            return
        parts = {"matched": self.splits.validation, "mismatched": read_table(files[0])}
        found = {which: self.swept("head", table, "zero") for which, table in parts.items()}
        for which, one in found.items():
            self.put("mismatched", as_table(one), set=which)
            self.put("mismatched-whole", plain(one), set=which)
        effects = [one["delta"].values.ravel() for one in found.values()]
        self.find("effects of heads agree on matched and mismatched MNLI (Pearson)", correlation(*effects))
        self.find("effects of heads agree on matched and mismatched MNLI (Spearman)", rank_correlation(*effects))

    def compare(self) -> None:
        """Figure 5, and the changes of what heads attend to."""
        changed = hc.compare(self.before, self.tuned, self.tokenizer, self.texts, **self.tagged)
        for kind, node in changed.children.items():
            if kind in ("cosine", *KEPT):
                found = node.to_dataset()
                self.put(f"change-{kind}", as_table(found))
                self.put(f"change-{kind}-layers", by_layer(found))
        maps = layer_values(changed["cosine"].to_dataset(), "maps")
        last = [maps.shape[1] - 2, maps.shape[1] - 1]
        self.find("the last two layers change most", lead(maps, last, least=True))
        features = changed["features"].to_dataset()
        for kind in ("noun", "object", "negation"):
            values = features["values_attention"].sel(feature=kind).mean(("stack", "layer", "head")).values[:, None]
            self.find(f"attention to the largest {kind} grows", resampled(values, lambda means: float(means[0])))

    def measure(self) -> None:
        """Figures 6 and 7: what heads attend to before and after."""
        asked = [one for one in KEPT if one != "repeated" or len(self.texts.columns) == 2]
        for which, model in (("before", self.before), ("after", self.tuned)):
            measured = hc.measure(model, self.tokenizer, self.texts, only=asked, **self.tagged)
            for kind, node in measured.children.items():
                self.put(f"measure-{kind}", as_table(node.to_dataset()), model=which)
                self.put(f"measure-{kind}-layers", by_layer(node.to_dataset()), model=which)
        self.kinds(measured["features"].to_dataset())

    def kinds(self, features: xr.Dataset) -> None:
        """What the fine-tuned model says of [CLS], [SEP] and the rest."""
        names = [str(one) for one in features["feature"].values]
        cls, sep = names.index("cls"), names.index("sep")
        last = layer_values(features, "from_first")[:, -1]
        others = [place for place in range(len(names)) if place != cls]
        self.find(
            "in the last layer [CLS] attends most to [SEP], itself aside", lead(last[:, others], [others.index(sep)])
        )
        share = layer_values(features, "attention")
        third = max(1, share.shape[1] // 3)
        gap = share[:, :, cls] - share[:, :, sep]
        self.find(
            "[CLS] gets more than a [SEP] in the first third of the layers",
            resampled(gap[:, :third].mean(1, keepdims=True), lambda means: float(means[0])),
        )
        self.find(
            "a [SEP] gets more than [CLS] in the last third of the layers",
            resampled(-gap[:, -third:].mean(1, keepdims=True), lambda means: float(means[0])),
        )
        self.find("[CLS] and [SEP] get more than any kind of word", lead(share.mean(1), [cls, sep]))

    def patterns(self) -> None:
        """Figures 1 and 2: the shapes of the maps."""
        for which, model in (("before", self.before), ("after", self.tuned)):
            found = hc.measure(model, self.tokenizer, self.texts, only="patterns", **self.limits)["patterns"]
            self.put("patterns", as_table(found.to_dataset()[["mostly", "sure"]]), model=which)
            whole = found.to_dataset()[[f"whole_share{end}" for end in ("", "_low", "_high")]]
            self.put("patterns-shares", whole.to_dataframe().reset_index(), model=which)


def sure_gains(found: xr.Dataset) -> int:
    """How many heads or layers gain with q < 0.05."""
    return int(((found["q"] < 0.05) & (found["delta"] > 0)).sum())


def estimate(found: xr.Dataset, name: str) -> Estimate:
    value, low, high = (float(found[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return value, low, high


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="the pre-trained model")
    parser.add_argument("--data", type=Path, required=True, help="a folder with a folder for each task")
    parser.add_argument("--trained", type=Path, required=True, help="what train.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=["mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"])
    parser.add_argument("--limit", type=int, help="validation examples of a sweep at most; all by default")
    parser.add_argument("--texts", type=int, default=1000, help="texts of a measurement at most")
    parser.add_argument("--questions", nargs="+", default=list(QUESTIONS), choices=QUESTIONS, help="all by default")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    parts = Parts(options.out)
    before, tokenizer = load_model(options.model, dtype=torch.float32).to(options.device), load_tokenizer(options.model)
    for name in options.tasks:
        missing = [one for one in options.questions if not parts.done(f"{name}-{one}")]
        study = Study(options, name, before, tokenizer) if missing else None
        for question in missing:
            assert study is not None
            start = time.monotonic()
            study.tables = defaultdict(list)
            getattr(study, question)()
            parts.save(f"{name}-{question}", study.tables)
            print(name, question, study.folder, f"{time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
