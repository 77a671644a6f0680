"""Try all kinds of rules on nested folds, choose one, and keep what it says of maps of families it has not seen.

    python -m recipes.patterns.compare --cache FOLDER

Outer folds: each family of models is held out once. Inner folds: for each of these, every other family is held out
once more, and the kind with the best macro F1 there is taken (a linear one, if it is within a point of the best); its
chances are calibrated there, too. So neither the kind nor the calibration has seen the family that it is scored on.
Writes `held_out.csv` (chances of every labelled map by rules that have not seen its family) and `chosen.json` (the kind
for all maps, which `fit` fits). Takes most of an hour on two cores; what is in the cache is not fitted again.
"""

from __future__ import annotations

import argparse
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import f1_score

from headcount.patterns.naming import PATTERNS
from recipes.patterns.kinds import MEANS, candidates, chances_without, join
from recipes.patterns.labelled import HERE, Maps, read_maps, read_table
from recipes.patterns.score import find_temperature, soften

MARGIN = 0.01
"""How much better in macro F1 a kind must be than those before it in the list, which are simpler."""
Left = frozenset[str]


class Chances:
    """What each kind says of the maps of families that it was not fitted to [map, pattern]; computed once."""

    def __init__(self, maps: Maps, cache: Path) -> None:
        self.maps, self.cache, self.kinds = maps, cache, candidates()
        cache.mkdir(parents=True, exist_ok=True)

    def of(self, kind: str, left: Left) -> np.ndarray:
        if kind in MEANS:
            return join([self.of(one, left) for one in MEANS[kind]])
        path = self.cache / f"{kind} without {' and '.join(sorted(left))}.npy"
        if not path.exists():
            np.save(path, self._fit(kind, left))
        kept: np.ndarray = np.load(path)
        return kept

    def _fit(self, kind: str, left: Left) -> np.ndarray:
        part = np.flatnonzero(np.isin(self.maps.family, list(left)))
        found = np.full((int(self.maps.labelled().sum()), len(PATTERNS)), np.nan)
        found[part] = chances_without(kind, self.maps, left, self.maps, part)
        return found

    def inner(self, kind: str, families: list[str], outer: str | None) -> np.ndarray:
        """The chances of every map but those of `outer`, by rules that have seen neither its family nor `outer`."""
        family = self.maps.family[self.maps.labelled()]
        found = np.full((len(family), len(PATTERNS)), np.nan)
        for one in families:
            if one != outer:
                left = frozenset([one] if outer is None else [one, outer])
                found[family == one] = self.of(kind, left)[family == one]
        return found


def choose(chances: Chances, families: list[str], outer: str | None) -> tuple[str, float, dict[str, float]]:
    """The simplest kind that is within a point of the best on the inner folds, its temperature, all macro F1 there."""
    known = chances.maps.labelled()
    labels, rest = chances.maps.labels[known], chances.maps.family[known] != outer
    inner = {kind: chances.inner(kind, families, outer)[rest] for kind in [*chances.kinds, *MEANS]}
    scores = {kind: float(f1_score(labels[rest], one.argmax(-1), average="macro")) for kind, one in inner.items()}
    best = next(kind for kind in _by_score(scores) if scores[kind] >= max(scores.values()) - MARGIN)
    return best, find_temperature(inner[best], labels[rest]), scores


def _by_score(scores: dict[str, float]) -> list[str]:
    """Linear rules first, then all others as they are listed; the best of the linear ones before the rest of them."""
    linear = sorted((kind for kind in scores if kind.startswith("linear")), key=lambda kind: -scores[kind])
    return [*linear, *(kind for kind in scores if not kind.startswith("linear"))]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="a folder for what each rule said")
    parser.add_argument("--out", type=Path, default=HERE)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)  # sums in one order, whatever the machine
    maps, table = read_maps(), read_table()
    chances = Chances(maps, asked.cache)
    families = sorted(set(table["family"]))
    for kind in chances.kinds:
        for left in [*((one,) for one in families), *combinations(families, 2)]:
            chances.of(kind, frozenset(left))
        print(f"fitted: {kind}", flush=True)
    held_out = np.full((len(table), len(PATTERNS)), np.nan)
    taken = {}
    for outer in families:
        kind, temperature, _ = choose(chances, families, outer)
        part = (table["family"] == outer).to_numpy()
        held_out[part] = soften(chances.of(kind, frozenset([outer]))[part], temperature)
        taken[outer] = {"kind": kind, "temperature": round(temperature, 4)}
        print(f"without {outer}: {kind}, temperature {temperature:.2f}")
    kind, temperature, scores = choose(chances, families, None)
    print(pd.Series(scores).sort_values(ascending=False).round(4).to_string())
    print(f"for all: {kind}, temperature {temperature:.2f}")
    kept = pd.DataFrame(held_out.round(5), columns=list(PATTERNS)).assign(id=table["id"])
    kept[["id", *PATTERNS]].to_csv(asked.out / "held_out.csv", index=False)
    rounded = {name: round(value, 4) for name, value in scores.items()}
    chosen = {"kind": kind, "temperature": round(temperature, 4), "without": taken, "inner_f1": rounded}
    (asked.out / "chosen.json").write_text(json.dumps(chosen, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
