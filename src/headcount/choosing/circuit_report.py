"""What held-out examples say about a circuit: faithfulness, completeness and minimality, beside random sets.

After Wang et al. 2023, *Interpretability in the Wild*. Every number is a score of the model with some heads replaced:
`plan_trials` says which, `report_circuit` what follows from their scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.ablation.matched_sets import draw_others
from headcount.ablation.stored_scores import StoredScores
from headcount.core.heads import Head, HeadSet, Layout
from headcount.core.results import Labelled, by_head, head_coords, label_axes, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.core.statistics import false_discovery, interval

CATEGORY = "In the circuit"
"""The heading under which a page lists it."""
WANG = "Wang 2023"


@dataclass(frozen=True)
class Trials:
    """Sets of heads that are replaced; a model that loses none of them is the whole one, number 0 of the scores."""

    circuit: HeadSet
    scope: HeadSet
    """The heads that may be replaced: all, or those of one stack."""
    subsets: tuple[HeadSet, ...]
    """Of the circuit, for completeness: each head, random ones, all of it."""
    randoms: tuple[HeadSet, ...]
    leaving: tuple[Head, ...]
    """One head of each random set, which leaves it."""

    @property
    def heads(self) -> list[Head]:
        return list(self.circuit)

    @property
    def sets(self) -> list[HeadSet]:
        """What is replaced in each trial, each set once."""
        one = [HeadSet(frozenset([head]), self.circuit.layout) for head in self.leaving]
        kept = [
            self.circuit - self.circuit,
            self.circuit,
            *(self.circuit - subset for subset in self.subsets),
            *self.randoms,
            *(drawn - gone for drawn, gone in zip(self.randoms, one, strict=True)),
        ]
        replaced = [*(self.scope - each for each in kept), *self.subsets, *self.randoms]
        return [each for each in each_once(replaced) if each]

    def numbers(self) -> Numbers:
        """Where the scores of each trial are."""
        places = {each.heads: place for place, each in enumerate(self.sets, 1)}
        return Numbers(self, {frozenset(): 0, **places})


@dataclass(frozen=True)
class Numbers:
    """The number of a score: of the model that keeps some heads of the scope alone, or that loses some."""

    trials: Trials
    places: dict[frozenset[Head], int]

    def keeping(self, heads: HeadSet) -> int:
        return self.places[(self.trials.scope - heads).heads]

    def losing(self, heads: HeadSet) -> int:
        return self.places[heads.heads]


def plan_trials(circuit: HeadSet, scope: HeadSet, subsets: int, randoms: int, seed: int) -> Trials:
    """Each head of the circuit, `subsets` random halves of it and all of it for completeness; `randoms` random sets."""
    generator = np.random.default_rng(seed)
    layout = circuit.layout
    heads = list(circuit)
    halves = [_half(heads, layout, generator) for _ in range(subsets if len(heads) > 2 else 0)]
    singles = [HeadSet(frozenset([head]), layout) for head in heads]
    allowed = Layout({stack: layers for stack, layers in layout.stacks.items() if any(h.stack == stack for h in scope)})
    drawn = [HeadSet(draw_others(circuit, allowed, generator).heads, layout) for _ in range(randoms)]
    leaving = [sorted(each)[int(generator.integers(len(each)))] for each in drawn]
    return Trials(circuit, scope, tuple(each_once([*singles, *halves, circuit])), tuple(drawn), tuple(leaving))


def each_once(sets: Iterable[HeadSet]) -> list[HeadSet]:
    """The sets without repetitions."""
    return list({each.heads: each for each in sets}.values())


def _half(heads: Sequence[Head], layout: Layout, generator: np.random.Generator) -> HeadSet:
    """Half of the heads, at random."""
    return HeadSet(frozenset(heads[place] for place in generator.permutation(len(heads))[: len(heads) // 2]), layout)


def report_circuit(trials: Trials, scores: StoredScores, effect: np.ndarray | None) -> Labelled:
    """The numbers of a circuit as labelled arrays; `effect` [stack, layer, head]: what ordered the heads, if known."""
    at, layout = trials.numbers(), trials.circuit.layout
    whole, none, alone = 0, at.keeping(trials.circuit - trials.circuit), at.keeping(trials.circuit)
    without = at.losing(trials.circuit)
    shares = Shares(scores, whole, none)
    left = [at.keeping(trials.circuit - HeadSet(frozenset([head]), layout)) for head in trials.heads]
    evidence = scores.evidence(alone, left).per_choice
    change = scores.scores[left] - scores.scores[alone]
    lost = np.stack(_lost(scores.sign, change, evidence["low"], evidence["high"]))
    of_circuit = dict(zip(trials.heads, lost.T, strict=True))
    tests = dict(zip(trials.heads, np.stack([evidence["p"], false_discovery(evidence["p"])]).T, strict=True))
    unknown = np.full(3, np.nan)
    minimality = by_head({head: of_circuit.get(head, unknown) for head in layout}, layout)
    tested = by_head({head: tests.get(head, unknown[:2]) for head in layout}, layout)
    code = {head: float(head in trials.circuit) if head in trials.scope else np.nan for head in layout}
    dims = ("stack", "layer", "head")
    arrays: dict[str, tuple[Any, ...]] = {
        **label_axes(head_coords(layout)),
        "in_circuit": (dims, by_head(code, layout)),
        **with_interval("minimality", dims, list(np.moveaxis(minimality, -1, 0))),
        "minimality_p": (dims, tested[..., 0]),
        "minimality_q": (dims, tested[..., 1]),
        **({} if effect is None else {"effect": (dims, effect)}),
        **_single(scores, {"whole": whole, "replaced": none, "circuit": alone, "without": without}),
        **with_interval("difference", (), scores_between(scores, [whole], [none])),
        **with_interval("faithfulness", (), shares.of([alone])),
        **_completeness(trials, at, scores),
        **_random(trials, at, scores, shares, alone),
    }
    return with_schemas(arrays, schemas(scores.metric.name))


@dataclass(frozen=True)
class Shares:
    """Scores as shares: 0 with all heads replaced, 1 for the whole model.

    NaN where the two do not differ enough for a ratio: the difference must have one sign in every resample.
    """

    scores: StoredScores
    whole: int
    none: int

    @property
    def known(self) -> bool:
        difference = self.scores.resampled[:, self.whole] - self.scores.resampled[:, self.none]
        return bool((difference > 0).all() or (difference < 0).all())

    def of(self, numbers: Sequence[int], beyond: Sequence[int] = ()) -> list[np.ndarray]:
        """The mean share of these trials, less that of others, with its interval over the examples."""
        if not self.known:
            return [np.asarray(np.nan)] * 3

        def share(scores: np.ndarray) -> np.ndarray:
            """From scores [..., number]."""
            shares = (scores - scores[..., [self.none]]) / (scores[..., [self.whole]] - scores[..., [self.none]])
            less = shares[..., list(beyond)].mean(-1) if beyond else 0.0
            return np.asarray(shares[..., list(numbers)].mean(-1) - less)

        return [share(self.scores.scores), *map(np.asarray, interval(share(self.scores.resampled)))]


def scores_between(scores: StoredScores, first: Sequence[int], second: Sequence[int]) -> list[np.ndarray]:
    """How much better the mean score of some trials is than that of others, with its interval over the examples."""

    def difference(values: np.ndarray) -> np.ndarray:
        return np.asarray(scores.sign * (values[..., list(first)].mean(-1) - values[..., list(second)].mean(-1)))

    return [difference(scores.scores), *map(np.asarray, interval(difference(scores.resampled)))]


def _lost(sign: int, change: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
    """Changes of a score as losses, with their intervals."""
    return (-change, -high, -low) if sign > 0 else (change, low, high)


def _single(scores: StoredScores, numbers: dict[str, int]) -> dict[str, tuple[Any, ...]]:
    """Scores with their intervals."""
    low, high = interval(scores.resampled)
    return {
        name: value
        for key, number in numbers.items()
        for name, value in with_interval(key, (), [scores.scores[number], low[number], high[number]]).items()
    }


def _completeness(trials: Trials, at: Numbers, scores: StoredScores) -> dict[str, tuple[Any, ...]]:
    """For each subset: the circuit and the model without it, and how much better the circuit is."""
    without = [(at.keeping(trials.circuit - subset), at.losing(subset)) for subset in trials.subsets]
    gaps = np.stack([np.stack(scores_between(scores, [first], [second])) for first, second in without])
    tested = [scores.evidence(second, [first]).per_choice["p"][0] for first, second in without]
    several = [
        pair for pair, subset in zip(without, trials.subsets, strict=True) if 1 < len(subset) < len(trials.heads)
    ]
    mean = [np.asarray(np.nan)] * 3
    if several:
        mean = scores_between(scores, [first for first, _ in several], [second for _, second in several])
    return {
        "subset": (("subset",), np.array([str(subset) for subset in trials.subsets], dtype=object)),
        "subset_size": (("subset",), np.array([len(subset) for subset in trials.subsets])),
        "circuit_without": (("subset",), scores.scores[[first for first, _ in without]]),
        "model_without": (("subset",), scores.scores[[second for _, second in without]]),
        **with_interval("gap", ("subset",), list(gaps.T)),
        "gap_q": (("subset",), false_discovery(np.array(tested))),
        **with_interval("mean_gap", (), mean),
    }


def _random(
    trials: Trials, at: Numbers, scores: StoredScores, shares: Shares, alone: int
) -> dict[str, tuple[Any, ...]]:
    """Faithfulness, completeness and minimality of the random sets."""
    if not trials.randoms:
        return {}
    layout = trials.circuit.layout
    kept = [at.keeping(each) for each in trials.randoms]
    left = [
        at.keeping(each - HeadSet(frozenset([head]), layout))
        for each, head in zip(trials.randoms, trials.leaving, strict=True)
    ]
    lost = [at.losing(each) for each in trials.randoms]
    return {
        "random_set": (("draw",), np.array([str(each) for each in trials.randoms], dtype=object)),
        "random_faithfulness": (("draw",), np.array([float(shares.of([number])[0]) for number in kept])),
        "random_without": (("draw",), scores.scores[lost]),
        "random_minimality": (("draw",), scores.sign * (scores.scores[kept] - scores.scores[left])),
        **with_interval("random", (), shares.of(kept)),
        **with_interval("beyond_random", (), shares.of([alone], kept)),
    }


def schemas(metric: str) -> dict[str, Schema]:
    """By variable, what it means."""
    worse = f"how much {metric} gets worse"
    share = "0 = all heads replaced, 1 = the whole model"
    return {
        "in_circuit": Schema(
            "Head of the circuit", "", "the heads that alone keep the score", names=("no", "yes"), category=CATEGORY
        ),
        "minimality": Schema(
            f"Change of {metric} when the head leaves the circuit",
            metric,
            "above 0: the circuit needs the head",
            signed=True,
            category=CATEGORY,
            paper=WANG,
        ),
        "effect": Schema(
            "What ordered the heads of the search",
            "",
            "above 0: needed, on the examples that selected the circuit",
            signed=True,
            category=CATEGORY,
            shown=False,
        ),
        "whole": Schema(f"{metric} of the whole model", metric, shown=False),
        "replaced": Schema(f"{metric} with all heads replaced", metric, shown=False),
        "circuit": Schema(f"{metric} of the circuit alone", metric, "all other heads replaced", shown=False),
        "without": Schema(f"{metric} of the model without the circuit", metric, "its heads replaced", shown=False),
        "difference": Schema(f"{worse} with all heads replaced", metric, shown=False),
        "faithfulness": Schema("Faithfulness of the circuit", share, "1: it does what the model does", paper=WANG),
        "subset": Schema("Heads of the circuit that are replaced too"),
        "subset_size": Schema("Number of these heads", "heads", range=(1, None)),
        "circuit_without": Schema(f"{metric} of the circuit without them", metric),
        "model_without": Schema(f"{metric} of the model without them", metric),
        "gap": Schema(
            f"How much better {metric} of the circuit is than that of the model, both without them",
            metric,
            "0: complete; below 0: heads outside of the circuit do the same",
            signed=True,
            paper=WANG,
        ),
        "gap_q": Schema("q-value of the gap", "", "corrected for all subsets", (0, 1)),
        "mean_gap": Schema("Mean gap over random halves of the circuit", metric, "0: complete", signed=True),
        "random_set": Schema("Random set with as many heads in each layer"),
        "random_faithfulness": Schema("Faithfulness of the random set", share),
        "random_without": Schema(f"{metric} of the model without the random set", metric),
        "random_minimality": Schema(f"{worse} when one head leaves the random set", metric, signed=True),
        "random": Schema("Mean faithfulness of the random sets", share),
        "beyond_random": Schema("Faithfulness beyond that of random sets", "", "above 0: the circuit is special"),
    }
