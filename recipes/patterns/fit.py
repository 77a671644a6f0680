"""Fit the rule that names patterns to the labelled maps, and find out how often it is right.

    python -m recipes.patterns.fit

Reads `labels.csv` and `pictures.npz` beside this file, writes `src/headcount/measures/naming.json`, and prints how
far the two labellers agree and how good the names are: on maps of models that the rule has not seen, and on other
maps of the same ones.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold
from torch import Tensor

from headcount.measures.maps import unpack
from headcount.measures.naming import PATTERNS
from headcount.measures.shapes import SHAPES
from recipes.patterns.planted import planted_maps
from recipes.patterns.shape import draw_pictures, shape_pictures

HERE = Path(__file__).parent
RULE = HERE.parents[1] / "src" / "headcount" / "measures" / "naming.json"
PENALTY = 1.0
"""The inverse of how strongly the weights are held at 0 (scikit-learn's C)."""
RELATIVES = {"bundled:pretrained": "bundled", "bundled:qnli": "bundled",
             "e5-mrpc": "e5", "e5-rte": "e5", "e5-small": "e5"}  # fmt: skip
"""Models that are held out together: one was fine-tuned from the other."""


def read_labels() -> tuple[pd.DataFrame, Tensor]:
    """The labelled maps and their shapes [map, shape]."""
    table = pd.read_csv(HERE / "labels.csv")
    pictures = torch.from_numpy(unpack(np.load(HERE / "pictures.npz")["pictures"]))
    rows = zip(pictures, table["tokens"], table["stack"], strict=True)
    return table, torch.cat([shape_pictures(picture[None], tokens, stack) for picture, tokens, stack in rows])


@cache
def plant() -> tuple[Tensor, np.ndarray]:
    """The shapes and patterns of maps that are known by construction."""
    shapes, labels = [], []
    for weights, stack, pattern in planted_maps():
        shapes.append(shape_pictures(draw_pictures(weights[None]), len(weights), stack))
        labels.append(PATTERNS.index(pattern))
    return torch.cat(shapes), np.array(labels)


def fit(shapes: Tensor, labels: np.ndarray) -> dict[str, np.ndarray]:
    """The rule for these maps, and for those that are known by construction."""
    known, named = plant()
    shapes, labels = torch.cat([shapes, known]), np.concatenate([labels, named])
    centre, scale = shapes.mean(0), shapes.std(0).clamp(min=1e-6)
    columns = ((shapes - centre) / scale).numpy()
    found = LogisticRegression(C=PENALTY, max_iter=10_000).fit(columns, labels)
    order = [list(found.classes_).index(number) for number in range(len(PATTERNS))]
    return {"centre": centre.numpy(), "scale": scale.numpy(), "weights": found.coef_[order],
            "bias": found.intercept_[order]}  # fmt: skip


def name(rule: dict[str, np.ndarray], shapes: Tensor) -> np.ndarray:
    columns = (shapes.numpy() - rule["centre"]) / rule["scale"]
    named: np.ndarray = (columns @ rule["weights"].T + rule["bias"]).argmax(-1)
    return named


def held_out(shapes: Tensor, labels: np.ndarray, sure: np.ndarray, folds: Any) -> np.ndarray:
    """The names of all maps, each by a rule that was fitted to other folds, to maps with one label alone."""
    named = np.full(len(labels), -1)
    for rest, part in folds:
        rest = rest[sure[rest]]
        named[part] = name(fit(shapes[rest], labels[rest]), shapes[part])
    return named


def shares_off(table: pd.DataFrame, named: np.ndarray, model: str) -> float:
    """How much of a model's shares is in the wrong place: half the sum of the differences to the labels' shares."""
    part = ((table["model"] == model) & table["stands_for"].notna()).to_numpy()
    weight = table["stands_for"].to_numpy()[part]

    def shares(names: np.ndarray) -> np.ndarray:
        return np.array([weight[names[part] == number].sum() for number in range(len(PATTERNS))]) / weight.sum()

    labels = [table[f"label_{who}"].map(PATTERNS.index).to_numpy() for who in "ab"]
    return float(np.abs(shares(named) - np.mean([shares(one) for one in labels], axis=0)).sum() / 2)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RULE)
    asked = parser.parse_args(arguments)
    table, shapes = read_labels()
    first, second = (table[f"label_{who}"].map(PATTERNS.index).to_numpy() for who in "ab")
    sure = first == second
    group = table["model"].replace(RELATIVES).to_numpy()
    new = held_out(shapes, first, sure, LeaveOneGroupOut().split(shapes, first, group))
    same = held_out(shapes, first, sure, StratifiedKFold(10, shuffle=True, random_state=0).split(shapes, first))
    said: dict[str, float] = {
        "maps": len(table), "models": int(table["model"].nunique()), "agreement": float(sure.mean()),
        "kappa": float(cohen_kappa_score(first, second)),
        "labellers_f1": float(f1_score(first, second, average="macro")),
        "accuracy": float((new == first)[sure].mean()), "f1": float(f1_score(first[sure], new[sure], average="macro")),
        "accuracy_same_models": float((same == first)[sure].mean()),
        "f1_same_models": float(f1_score(first[sure], same[sure], average="macro")),
        "either_where_labels_differ": float(((new == first) | (new == second))[~sure].mean()),
    }  # fmt: skip
    off = [shares_off(table, new, model) for model in table["model"].unique()]
    said |= {"shares_off": float(np.mean(off)), "shares_off_most": max(off)}
    for key, value in said.items():
        print(f"{key}: {value:.3f}")
    for one in sorted(set(group)):
        part = sure & (group == one)
        print(f"  without {one}: right on {(new == first)[part].mean():.3f} of its {part.sum()} maps")
    confusion = confusion_matrix(first[sure], new[sure], labels=range(len(PATTERNS)))
    print(pd.DataFrame(confusion, [f"label {one}" for one in PATTERNS], list(PATTERNS)).to_string())
    rule = fit(shapes[sure], first[sure])
    known, named = plant()
    print(f"planted: {(name(rule, known) == named).mean():.3f} of {len(named)} right")
    numbers = {key: _short(array) for key, array in rule.items()}
    told = {"patterns": list(PATTERNS), "shapes": list(SHAPES), **numbers, "confusion": confusion.tolist(),
            "said": {key: round(value, 4) for key, value in said.items()}}  # fmt: skip
    asked.out.write_text(json.dumps(told) + "\n", encoding="utf-8")
    print(f"Written: {asked.out}")


def _short(array: np.ndarray) -> Any:
    """Five digits are enough for a rule."""
    return np.array([float(f"{value:.5g}") for value in array.ravel()]).reshape(array.shape).tolist()


if __name__ == "__main__":
    main()
