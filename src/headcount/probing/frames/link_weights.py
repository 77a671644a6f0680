"""What the weights of links come to: means beside those of unlinked pairs, tests, and the best head, honestly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.core.mean_changes import mean_changes
from headcount.core.results import HEAD_DIMS, Labelled, with_interval
from headcount.core.statistics import false_discovery, mean_interval
from headcount.probing.frames.link_pairs import LEAST
from headcount.probing.selection.accuracies import Evaluated, evaluate

WAYS = (*HEAD_DIMS, "direction")
PERCENTILE = 99
"""Kovaleva et al.'s heads for frames are above this percentile of the mean weights of all heads."""
SWAPS = 10_000
AT_ONCE = 500
ROUNDING = 1e-6
"""Weights are kept in float32: a smaller difference is none."""


@dataclass(frozen=True)
class Links:
    """Weights of links and of the unlinked pairs beside them: [sentence, stack, layer, head, direction, link].

    NaN where there is no such head or link, where a causal mask hides one from the other, and, in `null`, where there
    are no unlinked pairs at that distance.
    """

    weight: np.ndarray
    null: np.ndarray

    @property
    def directions(self) -> int:
        return int(self.weight.shape[4])

    def sentences(self) -> np.ndarray:
        """[sentence, stack, layer, head, direction]: the mean weight of the links of each sentence."""
        return _mean(self.weight)

    def replaced(self) -> np.ndarray:
        """The same with unlinked pairs in place of each link that has them."""
        return _mean(np.where(np.isnan(self.null), self.weight, self.null))

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean weights of links and of unlinked pairs over those links that have both."""
        return _mean(np.where(np.isfinite(self.null), self.weight, np.nan)), _mean(self.null)

    def named(self, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same over some of the links [sentence, link], by candidate (a head in a direction)."""
        rows = links.any(1)
        some = links[rows][:, None, None, None, None]
        part = Links(np.where(some, self.weight[rows], np.nan), np.where(some, self.null[rows], np.nan))
        candidates = self.weight[0, ..., 0].size
        weight, null = (np.full((len(links), candidates), np.nan) for _ in range(2))
        weight[rows], null[rows] = (array.reshape(len(array), candidates) for array in part.compared())
        return weight, null


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean over the links that there are; NaN where there are none."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: np.ndarray = np.where(known, values, 0).sum(-1, dtype=float) / known.sum(-1)
    return means


def mean_weights(links: Links, seed: int) -> Labelled:
    """`weight`, `null_weight` and `excess` for each head and direction, with intervals, p and q of the excess.

    `excess` is `compared_weight`, over the links that have unlinked pairs beside them, minus `null_weight`.
    """
    weight, null = links.compared()
    return {
        **with_interval("weight", WAYS, mean_interval(links.sentences(), seed=seed)),
        "compared_weight": (WAYS, mean_interval(weight, seed=seed)[0]),
        **with_interval("null_weight", WAYS, mean_interval(null, seed=seed)),
        **_tested("excess", weight - null, seed),
    }


def random_weights(links: Links, seed: int) -> Labelled:
    """The same of a model with random weights, in short: what the tests find where nothing was learned.

    Its heads are above or below the null too, by very little: each prefers some words to others, and elements and
    predicates are not any words. The null keeps distance and pieces, not the words themselves.
    """
    weight, null = links.compared()
    tested = _tested("excess", weight - null, seed)
    kept = {name: tested[name] for name in ("excess", "excess_q")} | {"above_p": heads_above(links, seed)["above_p"]}
    mean = (WAYS, mean_interval(links.sentences(), seed=seed)[0])
    return {"random_weight": mean, **{f"random_{name}": array for name, array in kept.items()}}


def _tested(name: str, excess: np.ndarray, seed: int) -> dict[str, tuple[Any, ...]]:
    """The mean excess with its interval, and p and q of the null hypothesis that it is 0.

    Differences of weights are skewed, as those of losses are; hence the bootstrap-t. q is corrected over all heads and
    directions.
    """
    flat = excess.reshape(len(excess), -1)
    flat = np.where(np.abs(flat) < ROUNDING, 0, flat)
    known = np.isfinite(flat)
    value, low, high, p = (np.full(flat.shape[1], np.nan) for _ in range(4))
    tests = int(known.any(0).sum())
    # All heads have the same sentences, but under a causal mask the directions have not.
    for rows in np.unique(known.T, axis=0):
        columns = np.flatnonzero((known == rows[:, None]).all(0))
        if rows.any():
            found = mean_changes(flat[rows][:, columns].T, np.ones(int(rows.sum())), seed, tests)
            value[columns], low[columns], high[columns], p[columns] = found.delta, found.low, found.high, found.p
    shape, dims = excess.shape[1:], WAYS
    return {
        **with_interval(name, WAYS, [array.reshape(shape) for array in (value, low, high)]),
        f"{name}_p": (dims, p.reshape(shape)),
        f"{name}_q": (dims, false_discovery(p).reshape(shape)),
    }


def heads_above(links: Links, seed: int) -> Labelled:
    """In each direction, the heads above the 99th percentile of all heads' mean weights, and whether that means much.

    Of 144 heads two are above their own 99th percentile, whatever they do. So the same threshold is applied to weights
    in which links are replaced by unlinked pairs (`above_null`, how many heads are above it then), and `above_p` is how
    often at least as many heads are above it when link and unlinked pairs are swapped at random, sentence by sentence,
    in the same sentences for all heads. The threshold is not drawn again: that k heads are above it says that the k-th
    largest weight is, so the test is one of the k-th largest weight, and slightly conservative.
    """
    weight, replaced = links.sentences(), links.replaced()
    directions = weight.shape[-1]
    means = mean_interval(weight, draws=1, seed=seed)[0]
    above = np.zeros(means.shape, dtype=bool)
    threshold, null_counts, p = (np.full(directions, np.nan) for _ in range(3))
    for direction in range(directions):
        columns = np.flatnonzero(np.isfinite(means[..., direction].ravel()))
        if not len(columns):
            continue
        linked, unlinked = (array[..., direction].reshape(len(array), -1)[:, columns] for array in (weight, replaced))
        rows = np.isfinite(linked).all(1)
        linked, unlinked = linked[rows], unlinked[rows]
        threshold[direction] = np.percentile(linked.mean(0), PERCENTILE)
        over = linked.mean(0) > threshold[direction]
        flags = np.zeros(above[..., direction].size, dtype=bool)
        flags[columns] = over
        above[..., direction] = flags.reshape(means.shape[:-1])
        null_counts[direction] = (unlinked.mean(0) > threshold[direction]).sum()
        p[direction] = _swapped(linked, linked - unlinked, float(threshold[direction]), int(over.sum()), seed)
    return {
        "above": (WAYS, above),
        "above_threshold": (("direction",), threshold),
        "above_null": (("direction",), null_counts),
        "above_p": (("direction",), p),
    }


def _swapped(linked: np.ndarray, difference: np.ndarray, threshold: float, observed: int, seed: int) -> float:
    generator = np.random.default_rng(seed)
    means, change = linked.mean(0), (difference / len(linked)).astype(np.float32)
    as_many = 0
    for start in range(0, SWAPS, AT_ONCE):
        swaps = generator.integers(0, 2, (min(AT_ONCE, SWAPS - start), len(linked))).astype(np.float32)
        as_many += int(((means - swaps @ change > threshold).sum(1) >= observed).sum())
    return (1 + as_many) / (1 + SWAPS)


@dataclass(frozen=True)
class Best:
    """For each relation the head and direction of the largest excess on one half, and what it gets on the other."""

    index: np.ndarray
    weight: Evaluated
    null: Evaluated
    sentences: np.ndarray
    """[relation]: those that evaluate."""


def best_links(
    links: Links, named: np.ndarray, selecting: np.ndarray, seed: int, among: np.ndarray | None = None
) -> Best:
    """From the links and which of them [sentence, link, relation] belong to each relation.

    `among` [relation]: the number of the one direction that the best head of a relation may have.
    """
    columns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    index = np.full(named.shape[2], -1)
    for relation in range(named.shape[2]):
        weight, null = links.named(named[..., relation])
        excess = weight - null
        if among is not None:
            excess[:, np.arange(excess.shape[1]) % links.directions != among[relation]] = np.nan
        index[relation] = chosen = _largest(excess, selecting)
        columns.append(_cases(weight[:, chosen], null[:, chosen]))
    weights, nulls, cases = (np.stack(arrays, 1) for arrays in zip(*columns, strict=True))
    return Best(
        index,
        evaluate(weights, cases, index, selecting, seed),
        evaluate(nulls, cases, index, selecting, seed),
        np.where(index < 0, 0, cases[~selecting].sum(0)).astype(int),
    )


def better_directions(links: Links, selecting: np.ndarray, seed: int) -> Labelled:
    """For each head its excess in its better direction, which is selected on one half and evaluated on the other."""
    weight, null = links.compared()
    heads = weight.shape[1:4]
    weight, null = (array.reshape(len(array), -1, array.shape[-1]) for array in (weight, null))
    chosen = np.array([_largest(weight[:, head] - null[:, head], selecting) for head in range(weight.shape[1])])
    every = np.arange(len(chosen))
    weights, nulls, cases = _cases(weight[:, every, chosen], null[:, every, chosen])
    gain = evaluate(weights, cases, chosen, selecting, seed).above(evaluate(nulls, cases, chosen, selecting, seed))
    direction = np.where(chosen < 0, np.nan, chosen).reshape(heads)
    return {
        **with_interval("frame_excess", HEAD_DIMS, [array.reshape(heads) for array in gain]),
        "direction_of_head": (HEAD_DIMS, direction),
    }


def _largest(excess: np.ndarray, selecting: np.ndarray) -> int:
    """The column [sentence, column] of the largest mean on the selecting half; -1 where none has any.

    Under a causal mask a direction may have next to no sentences, where some head has a large mean by chance: it needs
    `LEAST`, or as many as any other where none has.
    """
    known = np.isfinite(excess).sum(0)
    means = np.where(known >= min(known.max(), LEAST), _mean(excess[selecting].T), np.nan)
    return int(np.nanargmax(means)) if np.isfinite(means).any() else -1


def _cases(weight: np.ndarray, null: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights as sums and their number of sentences, 0 where a sentence has none."""
    cases = np.isfinite(weight)
    return np.where(cases, weight, 0), np.where(cases, null, 0), cases.astype(float)
