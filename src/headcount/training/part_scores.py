"""The runs on parts of the input in numbers: over the seeds of each input and model, beside chance and all inputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import binom

from headcount.core.few_values import ratio_interval, t_interval
from headcount.data.examples import read_examples
from headcount.data.kinds.multiple_choice import MultipleChoice
from headcount.training.parts import ALL
from headcount.training.splits import Splits

FINE_TUNED = "fine-tuned"
LEVEL = 0.95


def majority_and_chance(splits: Splits) -> tuple[float, float]:
    """The scores of two predictions that read no text, on the validation examples.

    The majority is the most frequent label of the training examples; for a regression, a constant. Chance is the same
    but, for the accuracy of multiple choice, at least that of a random choice.
    """
    task = splits.task
    names = dict(enumerate(splits.names))
    train, validation = (
        np.asarray(read_examples(table, task, names).labels) for table in (splits.train, splits.validation)
    )
    choices = len(task.columns(splits.train)) - task.kind.contexts if isinstance(task.kind, MultipleChoice) else 0
    if task.kind.named_classes or choices:
        logits = np.zeros((len(validation), choices or len(splits.names)))
        logits[:, np.bincount(train).argmax()] = 1
    else:
        logits = np.zeros((len(validation), 1))
    majority = task.kind.find_metric(task.metric).score({"logits": logits}, validation)
    return majority, max(majority, 1 / choices) if choices and task.metric == "accuracy" else majority


def summarise_parts(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each set of examples (`split`), input and model: mean, median, maximum and spread over its seeds.

    `gain`: the mean above chance, with Student's interval over the seeds. `above_chance`: this interval lies above 0
    and, for an accuracy, chance alone would not reach the mean on so many examples (one in 40). `kept`: the share of
    the gain of all inputs that the part has too, with Fieller's interval over the seeds; NaN with fewer than three
    seeds, without a run on all inputs, or if these are not above chance.
    """
    return pd.concat([_summarise(runs) for _, runs in table.groupby("split", sort=False)], ignore_index=True)


def _summarise(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of one set of examples."""
    rows = []
    for (name, model), runs in table.groupby(["input", "model"], sort=False):
        gains = (runs["score"] - runs["chance"]).to_numpy()
        low, high = t_interval(gains, LEVEL)
        rows.append(
            {
                "input": name,
                "model": model,
                "metric": runs["metric"].iloc[0],
                "split": runs["split"].iloc[0],
                "mean": runs["score"].mean(),
                "median": runs["score"].median(),
                "max": runs["score"].max(),
                "std": runs["score"].std(),
                "seeds": len(runs),
                "failed": int(runs["failed"].sum()),
                "gain": gains.mean(),
                "gain_low": low,
                "gain_high": high,
                "above_chance": bool(low > 0 and not _by_luck(runs)),
            }
        )
    summary = pd.DataFrame(rows)
    for name, values in _kept(table, summary).items():
        summary[name] = values
    for name in ("majority", "chance", "examples"):
        summary[name] = table[name].iloc[0]
    return summary


def _by_luck(runs: pd.DataFrame) -> bool:
    """Whether chance would reach this accuracy on so many examples more often than once in 40."""
    if runs["metric"].iloc[0] != "accuracy":
        return False
    examples, chance = int(runs["examples"].iloc[0]), float(runs["chance"].iloc[0])
    right = int(np.floor(runs["score"].mean() * examples + 1e-9))
    return bool(binom.sf(right - 1, examples, chance) > (1 - LEVEL) / 2)


def _kept(table: pd.DataFrame, summary: pd.DataFrame) -> dict[str, list[float]]:
    """The share of the gain of all inputs that each row has, and its interval."""
    gains = table.assign(gain=table["score"] - table["chance"])
    columns: dict[str, list[float]] = {"kept": [], "kept_low": [], "kept_high": []}
    for row in summary.itertuples():
        runs = gains[gains["model"] == row.model]
        part, whole = (runs[runs["input"] == name].sort_values("seed")["gain"].to_numpy() for name in (row.input, ALL))
        known = summary[(summary["model"] == row.model) & (summary["input"] == ALL)]["above_chance"]
        low = high = share = float("nan")
        if row.input != ALL and len(known) and known.iloc[0]:
            low, high = ratio_interval(part, whole, LEVEL)
            share = float("nan") if np.isnan(low) else part.mean() / whole.mean()
        for name, value in zip(columns, (share, low, high), strict=True):
            columns[name].append(value)
    return columns
