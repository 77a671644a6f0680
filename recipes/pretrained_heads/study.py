"""What do the heads of a pre-trained encoder look at? Clark's Figures 2 to 4 and 6, and links between words.

Writes one table of numbers for each measure, by head and by layer, and one of findings with the verdict of
`recipes.evidence`. Killed, the same command goes on with what is missing.
"""

import argparse
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr

import headcount as hc
from headcount.core.results import as_table
from recipes.evidence import Estimate, Parts, by_layer, claim, layer_values, lead, resampled
from recipes.pretrained_heads.pronouns import as_conllu

ON_SEGMENTS = ("position", "special", "entropy", "contribution", "distances")
SEPARATING = slice(5, 10)
"""The layers, from 0, where more than half of BERT-base's attention falls on [SEP] (6 to 10 in the paper)."""
PREVIOUS, NEXT = (1, 3, 6, 7), (0, 1, 1, 2, 5)
"""The layers, from 0, of BERT-base's heads that give more than half to the previous and to the next token."""


class Model:
    """One model, and the tables that the questions fill."""

    def __init__(self, name: str, path: str, options: argparse.Namespace) -> None:
        self.name, self.options = name, options
        self.model, self.tokenizer = hc.load(
            hc.bundled(path.removeprefix("bundled:")) if path.startswith("bundled:") else path, dtype=torch.float32
        )
        self.model.to(options.device)
        self.tables: dict[str, list[pd.DataFrame]] = defaultdict(list)

    def put(self, kind: str, table: pd.DataFrame) -> None:
        self.tables[kind].append(table.copy().assign(model=self.name))  # the copy joins loose columns

    def find(self, what: str, found: Estimate, **more: Any) -> None:
        self.put("findings", pd.DataFrame([claim(what, found, **more)]))

    def keep(self, where: str, found: dict[str, xr.Dataset]) -> None:
        for name, one in found.items():
            self.put(f"{where}-{name}", as_table(one))
            if name != "distances":
                self.put(f"{where}-{name}-layers", by_layer(one))

    def measured(self, data: Any, only: tuple[str, ...], **more: Any) -> dict[str, xr.Dataset]:
        tree = hc.measure(self.model, self.tokenizer, data, only=only, max_length=128, **more)
        return {name: node.to_dataset() for name, node in tree.children.items()}

    def segments(self) -> None:
        """Clark's figures."""
        language = type(self.model).__name__.endswith(("ForMaskedLM", "ForPreTraining"))
        only = (*ON_SEGMENTS, "gradients") if language else ON_SEGMENTS
        table = pd.read_parquet(self.options.segments)
        found = self.measured(table, only, limit=self.options.texts)
        self.keep("segments", found)
        sep = layer_values(found["special"], "sep")[:, SEPARATING].mean(1, keepdims=True)
        self.find("more than half of the attention of L5 to L9 falls on [SEP]", resampled(sep, first), bound=0.5)
        length = layer_values(found["contribution"], "sep_value")[:, SEPARATING].mean(1, keepdims=True)
        self.find(
            "[SEP]'s value vectors are less than half as long as the mean in L5 to L9",
            resampled(length, first),
            bound=0.5,
            side="below",
        )
        for which, layers in (("previous", PREVIOUS), ("next", NEXT)):
            for number, layer in enumerate(layers):
                rank = layers[:number].count(layer)  # the paper names some layer twice
                self.find(
                    f"{'another' if rank else 'a'} head of L{layer} gives more than half to the {which} token",
                    best_head(found["position"], which, layer, rank),
                    bound=0.5,
                )
        self.find("L0 is the broadest layer", lead(layer_values(found["entropy"], "entropy"), [0]))
        if "gradients" in found:
            parts = [layer_values(found["gradients"], name)[:, SEPARATING].mean(1) for name in ("other", "sep")]
            self.find(
                "gradients of attention to [SEP] are smaller than to words in L5 to L9",
                resampled(np.stack(parts, 1), lambda means: float(means[0] - means[1])),
            )
        self.find("heads of one layer are closer to each other than to heads of others", alike(found["distances"]))

    def links(self) -> None:
        """Do the heads that follow verb-subject and noun-pronoun coincide with the diagonal ones?"""
        trees = pd.concat(
            [
                pd.read_parquet(one)
                for one in sorted(self.options.treebank.glob("*.parquet"))
                if one.stem in self.options.splits
            ]
        )
        path = self.options.out / "trees.conllu"
        path.write_text(as_conllu(trees[: self.options.texts]), encoding="utf-8")
        found = self.measured(path, ("links", "position", "patterns"))
        self.keep("links", {name: found[name] for name in ("links", "position")})
        self.put("links-patterns", as_table(found["patterns"][["mostly", "sure"]]))
        near = found["position"][["previous", "next"]].to_array().max("variable").values.ravel() > 0.5
        diagonal = near | (found["patterns"]["mostly"].values.ravel() == "diagonal")
        names = [str(one) for one in found["links"]["link"].values]
        for name in names:
            flat = found["links"]["values_attention"].sel(link=name).values.reshape(-1, len(diagonal))
            told = np.isfinite(flat).any(1)
            if not told.any() or diagonal.all() or not diagonal.any():
                continue
            self.find(
                f"the head that follows {name} most is diagonal",
                resampled(flat[told], lambda means: float(np.nanmax(means[diagonal]) - np.nanmax(means[~diagonal]))),
                sentences=int(told.sum()),
                head=place(found["links"], name),
            )


def first(means: np.ndarray) -> float:
    return float(means[0])


def best_head(found: xr.Dataset, name: str, layer: int, rank: int = 0) -> Estimate:
    """The head of a layer with the largest value (or the next, by rank), and its interval."""
    one = found.isel(stack=0, layer=layer)
    head = int(np.argsort(-one[name].values)[rank])
    value, low, high = (float(one[f"{name}{end}"][head]) for end in ("", "_low", "_high"))
    return value, low, high


def place(found: xr.Dataset, link: str) -> str:
    values = found["attention"].sel(link=link).isel(stack=0).values
    layer, head = np.unravel_index(np.nanargmax(values), values.shape)
    return f"L{layer}H{head}"


def alike(found: xr.Dataset) -> Estimate:
    """The mean distance between heads of different layers minus that of one layer, over the texts."""
    values = found["values_distance"].isel(stack=0).values
    texts, layers, heads = values.shape[:3]
    square = values.reshape(texts, layers * heads, layers * heads)
    of = np.repeat(np.arange(layers), heads)
    same = (of[:, None] == of[None]) & ~np.eye(len(of), dtype=bool)
    other = of[:, None] != of[None]
    gaps = np.stack([square[:, other].mean(1), square[:, same].mean(1)], 1)
    return resampled(gaps, lambda means: float(means[0] - means[1]))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", help="NAME=FOLDER or NAME=bundled:pretrained")
    parser.add_argument("--segments", type=Path, required=True, help="what segments.py wrote")
    parser.add_argument("--treebank", type=Path, required=True, help="UD English EWT as parquet files")
    parser.add_argument("--splits", nargs="+", default=["validation", "test"], help="of the treebank")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--texts", type=int, help="segments and sentences at most; all by default")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    parts = Parts(options.out)
    for one in options.models:
        name, _, path = one.partition("=")
        missing = [question for question in ("segments", "links") if not parts.done(f"{name}-{question}")]
        model = Model(name, path, options) if missing else None
        for question in missing:
            assert model is not None
            start = time.monotonic()
            model.tables = defaultdict(list)
            getattr(model, question)()
            parts.save(f"{name}-{question}", model.tables)
            print(name, question, f"{time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
