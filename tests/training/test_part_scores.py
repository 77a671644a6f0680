"""Scores over seeds: parity with plain pandas, what is above chance, and the share that a part keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from headcount.data.kinds.multiple_choice import ChoicesAlone
from headcount.data.tasks import find_task
from headcount.training.part_scores import majority_and_chance, summarise_parts
from headcount.training.splits import Splits
from tests.training import toy


def runs(scores: dict[tuple[str, str], list[float]], metric: str = "accuracy", examples: int = 300) -> pd.DataFrame:
    rows = [
        {"input": name, "model": model, "seed": seed, "metric": metric, "score": score, "failed": score <= 0.5}
        for (name, model), values in scores.items()
        for seed, score in enumerate(values)
    ]
    return pd.DataFrame(rows).assign(split="validation", majority=0.49, chance=0.5, examples=examples)


WHOLE = [0.70, 0.72, 0.71, 0.73]
PART = [0.65, 0.66, 0.64, 0.66]


def test_over_the_seeds() -> None:
    values = [0.5, 0.6, 0.7, 0.65]
    (row,) = summarise_parts(runs({("all", "fine-tuned"): values})).to_dict("records")
    assert [row[name] for name in ("mean", "median", "max", "std")] == pytest.approx(
        [np.mean(values), np.median(values), 0.7, np.std(values, ddof=1)]
    )
    assert (row["seeds"], row["failed"]) == (4, 1)
    ends = stats.t.interval(0.95, 3, np.mean(values) - 0.5, stats.sem(values))
    assert [row["gain"], row["gain_low"], row["gain_high"]] == pytest.approx([np.mean(values) - 0.5, *ends])
    assert np.isnan(row["kept"]), "all inputs keep all: nothing to say"


def test_the_share_that_a_part_keeps() -> None:
    table = runs({("warrant", "fine-tuned"): PART, ("warrant", "bilstm"): PART, ("all", "fine-tuned"): WHOLE})
    first, second, _ = summarise_parts(table).to_dict("records")
    assert first["kept"] == pytest.approx((np.mean(PART) - 0.5) / (np.mean(WHOLE) - 0.5))
    assert first["kept_low"] < first["kept"] < first["kept_high"]
    assert np.isnan(second["kept"]), "compared with its own model on all inputs, of which there is none"
    shuffled = summarise_parts(table.sample(frac=1, random_state=0)).set_index(["input", "model"])
    assert shuffled.loc[("warrant", "fine-tuned"), "kept_low"] == pytest.approx(first["kept_low"]), "paired by seed"


@pytest.mark.parametrize(
    ("whole", "examples", "above"),
    [
        (WHOLE, 300, True),
        (WHOLE[:2], 300, False),  # two seeds
        ([0.45, 0.72, 0.5, 0.6], 300, False),  # the seeds differ too much
        ([0.54, 0.54, 0.541, 0.54], 300, False),  # chance reaches this on 300 examples
        ([0.54, 0.54, 0.541, 0.54], 3000, True),
    ],
)
def test_what_is_above_chance(whole: list[float], examples: int, above: bool) -> None:
    table = runs({("warrant", "fine-tuned"): PART[: len(whole)], ("all", "fine-tuned"): whole}, examples=examples)
    summary = summarise_parts(table)
    assert summary["above_chance"].iloc[1] == above
    assert np.isfinite(summary["kept"].iloc[0]) == above


def test_majority_and_chance() -> None:
    table = toy.choices(10).assign(label=[1] * 7 + [0] * 3)
    task = replace(find_task("multiple-choice", text=("warrant0", "warrant1")), kind=ChoicesAlone())
    assert majority_and_chance(Splits(task, table, table, ())) == (0.7, 0.7)
    other = table.assign(label=[1] * 2 + [0] * 8)
    assert majority_and_chance(Splits(task, table, other, ())) == (0.2, 0.5), "a random choice is better"
    pairs = toy.pairs(10).assign(label=[1] * 7 + [0] * 3)
    names = ("not_equivalent", "equivalent")
    assert majority_and_chance(Splits(find_task("mrpc"), pairs, pairs, names))[0] == pytest.approx(14 / 17), "its F1"
    assert majority_and_chance(Splits(find_task("stsb"), toy.numbers(8), toy.numbers(8), ())) == (0, 0)
