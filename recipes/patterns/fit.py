"""Fit the rule that names patterns to the labelled maps, and say how good its names are.

    python -m recipes.patterns.fit

Reads the labels and `held_out.csv` beside this file (what rules that have not seen a map's family say of it; `compare`
makes it), writes `src/headcount/patterns/naming.json`, and prints every score: family left out, all maps first.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import cohen_kappa_score, confusion_matrix
from sklearn.model_selection import StratifiedGroupKFold

from headcount.patterns.naming import PATTERNS
from headcount.patterns.shapes import SHAPES
from recipes.patterns.kinds import Linear, candidates, chances_without
from recipes.patterns.labelled import HERE, PLANTED, VARIED, Maps, read_fresh, read_maps, read_table
from recipes.patterns.score import (
    FLOOR,
    calibration_error,
    coverage,
    f1_of,
    interval,
    macro_f1,
    reliability,
    share_errors,
    share_width,
    soften,
)

RULE = HERE.parents[1] / "src" / "headcount" / "patterns" / "naming.json"


def read_held_out() -> np.ndarray:
    """Calibrated chances [map, pattern] by rules that have not seen the family of the map."""
    table, kept = read_table(), pd.read_csv(HERE / "held_out.csv")
    if kept["id"].tolist() != table["id"].tolist():
        raise ValueError("held_out.csv is of other maps than labels.csv; run recipes.patterns.compare again")
    found: np.ndarray = kept[list(PATTERNS)].to_numpy()
    return found


def read_chosen() -> dict[str, Any]:
    """The kind of rule, and its temperature, that did best with each family left out."""
    found: dict[str, Any] = json.loads((HERE / "chosen.json").read_text(encoding="utf-8"))
    return found


def rule_of(kind: Linear, temperature: float) -> dict[str, np.ndarray]:
    """Numbers from which the chances follow: softmax of `bias + weights @ clip((shape - centre) / scale, -4, 4)`."""
    order = [list(kind.model.classes_).index(number) for number in range(len(PATTERNS))]
    weights, bias = kind.model.coef_[order] / temperature, kind.model.intercept_[order] / temperature
    return {"centre": kind.scale.centre, "scale": kind.scale.scale, "weights": weights, "bias": bias}


def fit_chosen(maps: Maps, chosen: dict[str, Any]) -> dict[str, np.ndarray]:
    """The rule for all maps."""
    make, varied = candidates()[chosen["kind"]]
    kind = make()
    if not isinstance(kind, Linear) or kind.products or kind.count != len(SHAPES):
        raise TypeError(f"naming.py computes linear rules of all shapes; got {chosen['kind']}")
    rows = np.flatnonzero(maps.labelled() | (maps.family == PLANTED) | ((maps.family == VARIED) & varied))
    kind.fit(maps, rows)
    return rule_of(kind, chosen["temperature"])


def within_models(maps: Maps, table: pd.DataFrame, chosen: dict[str, Any]) -> np.ndarray:
    """The names of all maps by the chosen kind, fitted to other heads of the same models."""
    make, varied = candidates()[chosen["kind"]]
    planted = np.flatnonzero((maps.family == PLANTED) | ((maps.family == VARIED) & varied))
    named = np.full(len(table), -1)
    labels = maps.labels[: len(table)]
    folds = StratifiedGroupKFold(10, shuffle=True, random_state=0)
    for rest, part in folds.split(labels, labels, table["group"]):
        kind = make().fit(maps, np.concatenate([rest, planted]))
        named[part] = kind.chances(maps, part).argmax(-1)
    return named


def see_fresh(maps: Maps, fresh: Maps, chosen: dict[str, Any]) -> np.ndarray:
    """The chances of fresh maps by rules that have not seen their families, each of the kind chosen without it."""
    found = np.full((len(fresh.labels), len(PATTERNS)), np.nan)
    for family, taken in chosen["without"].items():
        part = np.flatnonzero(fresh.family == family)
        found[part] = soften(chances_without(taken["kind"], maps, [family], fresh, part), taken["temperature"])
    return found


def tell(table: pd.DataFrame, labels: np.ndarray, chances: np.ndarray, within: np.ndarray) -> dict[str, Any]:
    """Every score, the headline first: macro F1 on all maps with their family left out, and its interval."""
    names = chances.argmax(-1)
    family, group = table["family"].to_numpy(), table["group"].to_numpy()
    agreed = (table["label_a"] == table["label_b"]).to_numpy()
    low, high = interval(labels, names, family, group)
    errors = share_errors(table, labels, names)
    off = (errors["named"] - errors["labelled"]).abs().groupby([errors["model"], errors["stack"]]).sum() / 2
    by_stack = {
        f"accuracy_{stack}": (names == labels)[part].mean() for stack, part in table.groupby("stack").indices.items()
    }
    return {
        "maps": len(table),
        "models": table["model"].nunique(),
        "families": table["family"].nunique(),
        "f1": macro_f1(labels, names),
        "f1_low": low,
        "f1_high": high,
        "accuracy": (names == labels).mean(),
        "f1_agreed": macro_f1(labels[agreed], names[agreed]),
        "accuracy_agreed": (names == labels)[agreed].mean(),
        "f1_same_models": macro_f1(labels, within),
        "accuracy_same_models": (within == labels).mean(),
        "f1_same_models_agreed": macro_f1(labels[agreed], within[agreed]),
        **by_stack,
        "agreement": agreed.mean(),
        "kappa": cohen_kappa_score(table["label_a"], table["label_b"]),
        "calibration_error": calibration_error(chances, labels),
        "shares_off": off.mean(),
        "shares_off_most": off.max(),
        "share_width": share_width(errors),
        "share_floor": FLOOR,
        "share_coverage": coverage(errors),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RULE)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    maps, table, chosen, chances = read_maps(), read_table(), read_chosen(), read_held_out()
    labels = maps.labels[: len(table)]
    said = tell(table, labels, chances, within_models(maps, table, chosen))
    fresh = read_fresh()
    seen = see_fresh(maps, fresh, chosen)
    said |= {
        "fresh_maps": len(fresh.labels),
        "fresh_f1": macro_f1(fresh.labels, seen.argmax(-1)),
        "fresh_accuracy": (seen.argmax(-1) == fresh.labels).mean(),
    }
    said = {key: value if isinstance(value, int) else round(float(value), 4) for key, value in said.items()}
    confusion = confusion_matrix(labels, chances.argmax(-1), labels=range(len(PATTERNS)))
    each = dict(zip(PATTERNS, f1_of(confusion).round(4).tolist(), strict=True))
    ranges = [{key: round(value, 4) for key, value in row.items()} for row in reliability(chances, labels)]
    for key, value in said.items():
        print(f"{key}: {value:.3f}")
    for family, part in table.groupby("family").indices.items():
        right = (chances.argmax(-1) == labels)[part]
        print(
            f"  without {family}: right on {right.mean():.3f} of its {len(part)} maps, "
            f"macro F1 {macro_f1(labels[part], chances[part].argmax(-1)):.3f}"
        )
    print("F1:", ", ".join(f"{name} {value:.2f}" for name, value in each.items()))
    print(pd.DataFrame(confusion, [f"label {one}" for one in PATTERNS], list(PATTERNS)).to_string())
    print(pd.DataFrame(ranges).to_string(index=False))
    rule = fit_chosen(maps, chosen)
    told = {
        "patterns": list(PATTERNS),
        "shapes": list(SHAPES),
        **{key: _short(array) for key, array in rule.items()},
        "confusion": confusion.tolist(),
        "f1": each,
        "reliability": ranges,
        "said": said,
    }
    asked.out.write_text(json.dumps(told) + "\n", encoding="utf-8")
    print(f"Written: {asked.out}")


def _short(array: np.ndarray) -> Any:
    """Six digits are enough for a rule."""
    return np.array([float(f"{value:.6g}") for value in array.ravel()]).reshape(array.shape).tolist()


if __name__ == "__main__":
    main()
