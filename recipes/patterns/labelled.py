"""The labelled maps as numbers: their shapes, the label that counts, the family and the head that they come from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from headcount.attention_maps.maps import unpack
from headcount.patterns.naming import PATTERNS
from recipes.patterns.planted import planted_maps, varied_maps
from recipes.patterns.shape import draw_pictures, shape_pictures

HERE = Path(__file__).parent
FAMILIES = {
    "bundled:pretrained": "bundled",
    "bundled:qnli": "bundled",
    "e5-mrpc": "e5",
    "e5-rte": "e5",
    "e5-small": "e5",
    "opus-mt-fr-en": "opus-mt",
    "opus-mt-zh-en": "opus-mt",
    "all-MiniLM-L6-v2": "MiniLM",
    "smollm2-135m": "SmolLM2",
    "m3e-small": "m3e",
    "rubert-tiny2-homographs": "rubert",
}
"""Models that are held out together: fine-tuned from one another, or trained alike by the same project."""
PLANTED, VARIED = "planted", "varied"
"""The families of maps that are known by construction; they are never held out."""


@dataclass(frozen=True)
class Maps:
    """Maps with a label each, of which those of the labelled table come first."""

    pictures: Tensor
    tokens: np.ndarray
    stack: np.ndarray
    shapes: np.ndarray
    labels: np.ndarray
    """Numbers of patterns."""
    family: np.ndarray

    def labelled(self) -> np.ndarray:
        """Which maps come from models."""
        return ~np.isin(self.family, [PLANTED, VARIED])


def settle(table: pd.DataFrame) -> np.ndarray:
    """The label that counts: that of both labellers, or where they differ that of the third look."""
    return np.where(table["label_a"] == table["label_b"], table["label_a"], table["label_c"].fillna(""))


def read_table() -> pd.DataFrame:
    """The labels with `family`, `label` (settled) and `group`: a head, the same in all models that share weights."""
    table = pd.read_csv(HERE / "labels.csv")
    family = table["model"].map(FAMILIES)
    lineage = np.where(family == "opus-mt", table["model"], family)
    group = [" ".join(parts) for parts in zip(lineage, table["stack"], table["head"], strict=True)]
    return table.assign(family=family, label=settle(table), group=group)


def shape_all(pictures: Tensor, tokens: np.ndarray, stack: np.ndarray) -> np.ndarray:
    """The shapes [map, shape], those of one length and stack at once."""
    found: np.ndarray | None = None
    keys = pd.Series(list(zip(tokens, stack, strict=True)))
    for (length, side), rows in keys.groupby(keys).groups.items():
        shapes = shape_pictures(pictures[list(rows)], int(length), side).double().numpy()
        if found is None:
            found = np.empty((len(pictures), shapes.shape[1]))
        found[list(rows)] = shapes
    assert found is not None
    return found


def read_fresh() -> Maps:
    """Random maps that were drawn and labelled once, after the rule was made; nothing is fitted to them."""
    table = pd.read_csv(HERE / "fresh.csv")
    pictures = torch.from_numpy(unpack(np.load(HERE / "fresh.npz")["pictures"]))
    tokens, stack = table["tokens"].to_numpy(), table["stack"].to_numpy()
    labels = table["label"].map(PATTERNS.index).to_numpy()
    family = table["model"].map(FAMILIES).to_numpy()
    return Maps(pictures, tokens, stack, shape_all(pictures, tokens, stack), labels, family)


@cache
def read_maps() -> Maps:
    """All labelled maps, then those that are known by construction."""
    table = read_table()
    planted = [(*one, PLANTED) for one in planted_maps()] + [(*one, VARIED) for one in varied_maps()]
    stored = torch.from_numpy(unpack(np.load(HERE / "pictures.npz")["pictures"]))
    pictures = torch.cat([stored, *(draw_pictures(weights[None]) for weights, *_ in planted)])
    tokens = np.concatenate([table["tokens"], [len(weights) for weights, *_ in planted]])
    stack = np.concatenate([table["stack"], [one[1] for one in planted]])
    named = [*table["label"], *(one[2] for one in planted)]
    family = np.concatenate([table["family"], [one[3] for one in planted]])
    labels = np.array([PATTERNS.index(one) for one in named])
    return Maps(pictures, tokens, stack, shape_all(pictures, tokens, stack), labels, family)
