"""Which heads are alike: the distance between every two of them, their places in the plane, their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from headcount.core.schema import Schema
from headcount.measures.contract import Question, Schemas, Setting, Values

EXAMPLES = 50
"""Texts that the distances are taken over by default: the work grows with the square of the number of heads."""
PERMUTATIONS = 1000
QUERIES, BYTES = 512, 2**30
"""Of a text of more queries, at most so many are drawn, so that their rows of all heads' maps take at most so much."""
CHUNK = 2**24
"""Entries of maps that are compared at a time."""


@dataclass(frozen=True)
class StackMaps:
    """The maps [layer, head, query, key] of a stack in one text, and the number of queries that they are of."""

    maps: Tensor
    queries: int

    @cached_property
    def distances(self) -> Tensor:
        """[layer, head, layer, head], for all layers at once."""
        return head_distances(self.maps, self.queries)


@dataclass(frozen=True)
class SeenMaps:
    """One layer among all of its stack, in one text."""

    whole: StackMaps
    layer: int
    heads: list[int]


class Distances(Question):
    """The Jensen-Shannon divergence in nats (0 to log 2) between two heads of a stack, mean over tokens and texts.

    Exact; Clark's code mixes 0.1 % of uniform attention into the maps first, and sums over tokens. `x`, `y`: the heads
    in the plane (metric multidimensional scaling). `cluster`: average linkage, as many clusters as have the largest
    silhouette. `within_layers`, `between_layers`: mean distances; `p`: how often layers dealt at random to the heads
    would be as close together. Of texts of more than 512 tokens, at most 512 of them are drawn by seed as queries, and
    fewer where the rows of all heads would take more than 1 GiB (16 of 32,768 tokens for 512 heads).
    """

    name = "distances"
    summary = "Jensen-Shannon divergence between all heads, their embedding and clusters; are layers alike?"
    paper = "Clark 2019, Fig 6"
    kind = "maps"
    schemas: ClassVar[Schemas] = {
        "distance": Schema("Distance to every other head", "nats", "0: the same maps", (0, 0.6932), shown=False),
        "cluster": Schema("Group of heads with like maps", "group", "heads of one group look alike", names=()),
        "x": Schema("Position in the plane, across", "nats", "near heads have like maps", shown=False),
        "y": Schema("Position in the plane, upwards", "nats", "near heads have like maps", shown=False),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"distance": ("other_layer", "other_head")}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return {
            "other_layer": list(range(max(setting.layers.values()))),
            "other_head": list(range(setting.width)),
        }

    def bytes_of_text(self, setting: Setting, tokens: int, itemsize: int) -> int:
        one_query = sum(setting.layers.values()) * setting.width * tokens * itemsize
        return tokens * one_query if tokens <= QUERIES else min(QUERIES * one_query, max(BYTES, one_query))

    def see(self, seen: SeenMaps) -> Values:
        return {"distance": seen.whole.distances[seen.layer][seen.heads][None]}

    def finish(self, means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        distance = means["distance"]
        shape = distance.shape[:3]
        arrays: dict[str, np.ndarray] = {name: np.full(shape, np.nan) for name in ("x", "y", "cluster")}
        for name in ("within_layers", "between_layers", "p"):
            arrays[name] = np.full(shape[:1], np.nan)
        for stack in range(shape[0]):
            flat = distance[stack].reshape(shape[1] * shape[2], -1)
            present = np.flatnonzero(np.isfinite(np.diagonal(flat)))
            square = flat[np.ix_(present, present)]
            if len(present) < 3 or square.max() < 1e-6:  # texts of one token: all heads are alike
                continue
            heads = np.unravel_index(present, shape[1:])
            for name, values in zip(("x", "y", "cluster"), _arrange(square), strict=True):
                arrays[name][stack][heads] = values
            for name, value in _layers_alike(square, heads[0]).items():
                arrays[name][stack] = value
        return arrays


def sampled_queries(queries: int, keys: int, heads: int, seed: int) -> np.ndarray | None:
    """The queries that stand for all of a long text, in order; None where all are taken.

    >>> sampled_queries(512, 512, 384, 0) is None, len(sampled_queries(32768, 32768, 512, 0))
    (True, 16)
    """
    if queries <= QUERIES:
        return None
    count = min(QUERIES, max(1, BYTES // (heads * keys * 4)))
    return np.sort(np.random.default_rng(seed).choice(queries, count, replace=False))


def head_distances(maps: Tensor, queries: int) -> Tensor:
    """[L, H, L, H] from the maps [L, H, Q, K] of one text: the divergence of every two heads, mean over the queries."""
    layers, heads = maps.shape[:2]
    rows = maps.flatten(0, 1)[:, :queries]
    sums = torch.zeros(len(rows), len(rows), device=rows.device)
    for part in rows.split(max(1, CHUNK // max(1, len(rows) * rows.shape[2])), 1):
        flat = part.float()
        entropy = _entropy(flat)
        for number in range(len(flat)):
            # JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2
            mixed = _entropy((flat[number] + flat[number + 1 :]) / 2)
            sums[number, number + 1 :] += mixed - (entropy[number] + entropy[number + 1 :]) / 2
    distances = (sums + sums.T).clamp(min=0) / queries
    removed = rows[:, 0, 0].isnan()  # heads that the layer no longer has
    distances[removed] = float("nan")
    distances[:, removed] = float("nan")
    return distances.view(layers, heads, layers, heads)


def _entropy(maps: Tensor) -> Tensor:
    """The summed entropy of the rows of maps [map, Q, K]; a plain log is twice as quick as `entr` on a CPU."""
    return -(maps * maps.clamp_min(torch.finfo(maps.dtype).tiny).log()).sum(-1).sum(-1)


def _arrange(square: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each head's place in the plane and its cluster."""
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.manifold import MDS
    from sklearn.metrics import silhouette_score

    # scikit-learn 1.8 renamed the option.
    given = "metric" if "metric_mds" in signature(MDS).parameters else "dissimilarity"
    options = {given: "precomputed", "n_init": 1, "init": "random", "random_state": 0, "normalized_stress": False}
    plane = MDS(2, **options).fit_transform(square, init=_first_plane(square))
    best, labels = -2.0, np.zeros(len(square), dtype=int)
    for count in range(2, min(12, len(square) - 1) + 1):
        clusters = AgglomerativeClustering(count, metric="precomputed", linkage="average").fit_predict(square)
        score = silhouette_score(square, clusters, metric="precomputed")
        if score > best:
            best, labels = score, clusters
    return plane[:, 0], plane[:, 1], labels


def _first_plane(square: np.ndarray) -> np.ndarray:
    """Classical scaling: the two strongest directions of the doubly centred squares. A start that needs no luck."""
    squares = square**2
    centred = -(squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    start: np.ndarray = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-12))
    return start


def _layers_alike(square: np.ndarray, layers: np.ndarray) -> dict[str, float]:
    rng = np.random.default_rng(0)
    off = ~np.eye(len(square), dtype=bool)

    def within(dealt: np.ndarray) -> float:
        return float(square[(dealt[:, None] == dealt[None]) & off].mean())

    same = (layers[:, None] == layers[None]) & off
    if not same.any() or same.sum() == off.sum():
        return {}
    real = within(layers)
    chance = [within(rng.permutation(layers)) for _ in range(PERMUTATIONS)]
    p = (1 + sum(one <= real for one in chance)) / (1 + PERMUTATIONS)
    return {"within_layers": real, "between_layers": float(square[~same & off].mean()), "p": p}
