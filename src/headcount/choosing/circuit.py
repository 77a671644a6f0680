"""The smallest set of heads that alone keeps the score: found on one half, evaluated on the held-out half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.choices import Every, heads_of
from headcount.ablation.hows import How, Means, Patch, Resample, Spec, find_how
from headcount.ablation.job import Data, check_classifier, find_known_task, task_metric
from headcount.ablation.stored_scores import StoredScores
from headcount.ablation.sweep import sweep
from headcount.choosing.bundles import Bundles
from headcount.choosing.circuit_report import each_once, plan_trials, report_circuit
from headcount.choosing.circuit_search import Found, Kept, Margin, search_size, search_tolerance
from headcount.choosing.halves import read_halves
from headcount.choosing.orders import ORDERS, Source, Wanted, by_values, find_orders
from headcount.core.agreement import lost
from headcount.core.claims import judge_bounds, tolerance_of
from headcount.core.heads import Head, HeadSet
from headcount.core.options import belongs_to, without_effect
from headcount.core.provenance import fingerprint, origin_of
from headcount.core.results import Labelled
from headcount.core.schema import Schema, with_schemas
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.in_memory import name_of
from headcount.data.kinds.metrics import Metric
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress, in_step
from headcount.engines.run import Run, group_name
from headcount.errors import DataProblem, InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy

DEFAULT = "5%"
"""The tolerance, unless one or a size is given."""
SAID = ("task", "metric", "higher_is_better", "how", "data", "cut", ATTRIBUTE)


@takes_compiled
@writes_study("out")
def circuit(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    how: How = "resample",
    tolerance: float | str | None = None,
    keep: int | None = None,
    by_estimate: bool = False,
    order: str = "ablation",
    passes: int = 2,
    subsets: int = 10,
    randoms: int = 10,
    stack: str | None = None,
    metric: str | None = None,
    reference: Data | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The smallest set of heads that alone keeps the score, with all others replaced; a Dataset (stack, layer, head).

    `how`: the replacement, as for `sweep`: `resample` (a head's output on another example), `mean` (over `reference=`,
    by default the half of the examples that selects), `patch` (its output on the counterpart of the text), `zero` or
    `uniform`. `tolerance`: in points of the score (1 is 0.01 of an accuracy) or, such as "5%", as a share of the
    difference between the whole model and one with all heads replaced; a set is within it if the one-sided 95 %
    confidence bound of its change is or, with `by_estimate`, the change itself. `keep`: so many heads instead.

    One half of the examples selects: `order` ranks the heads (by `ablation` with the same replacement, or by
    `importance`, `taylor`, `norm`, `gates`, `file:PATH`); of the nested sets, the smallest one within the tolerance is
    taken, if no larger one is significantly outside; then at most `passes` passes drop the heads that are needed least.
    With `keep`, the passes start at twice as many heads. The other half evaluates (Wang et al. 2023): `faithfulness`
    ((circuit - all replaced) / (whole - all replaced)), completeness (`gap`, for each head, `subsets` random halves and
    all of the circuit: the circuit without it against the model without it), `minimality` (what is lost when a head
    leaves), beside `randoms` sets with as many heads in each layer. `stack`: only heads of this stack are replaced.
    `out`: a study folder, which also keeps the sweeps; the same call resumes.
    """
    check_numbers(limit=limit, seed=seed, max_length=max_length, keep=keep, subsets=subsets, randoms=randoms)
    check_numbers(passes=passes)
    belongs_to("name", name, "out", out)
    target = Target.parse(tolerance, keep)
    if keep is not None:
        without_effect("by_estimate", by_estimate, "keep= fixes the size")
    spec = find_replacement(how)
    if not isinstance(spec, Means):
        without_effect("reference", reference, f"{spec.name} needs no mean outputs, as mean does")
    anatomy = read_anatomy(model)
    layout = anatomy.layout
    scope = HeadSet.of(heads_of(layout, stack), layout)
    if keep is not None and keep >= len(scope):
        raise InvalidOption(f"got keep={keep}; expected fewer than the {len(scope)} heads that may be replaced")
    wanted = _check_order(order, anatomy, stack)
    known = find_known_task(data, task)
    scored = _check_metric(known, metric)
    check_classifier(model, known)
    first, second = read_halves(data, known, limit, seed, tokenizer)
    bench = Bench(
        model,
        tokenizer,
        known,
        scope,
        spec,
        scored,
        (first if reference is None else reference) if isinstance(spec, Means) else None,
        {"seed": seed, "max_length": max_length, "out": out},
        None if out is None else name or "circuit",
        progress,
    )
    ranked, effect = bench.rank(first, wanted, stack)
    judge = bench.judge(first, target)
    if target.keep is None:
        found = search_tolerance(ranked, judge, passes, by_estimate)
    else:
        found = search_size(ranked, judge, passes, target.keep)
    heads = HeadSet(found.heads, layout)
    trials = plan_trials(heads, scope, subsets, randoms, seed)
    swept = bench.sweep(second, trials.sets, "held-out")
    scores = StoredScores.read(swept, known.kind, str(swept.attrs["metric"]), seed)
    alone = trials.numbers().keeping(heads)
    attributes = {key: swept.attrs[key] for key in SAID if key in swept.attrs}
    attributes |= {
        "data": name_of(data),
        "tolerance": target.spelled,
        "keep": target.keep,
        "by_estimate": by_estimate,
        "order": order,
        "passes": passes,
        "sizes": list(found.sizes),
        "settled": found.settled,
        "size": len(heads),
        "of": len(scope),
        "circuit": str(heads),
        "examples": swept.sizes["example"],
        "selecting": len(first),
        "verdict": _verdict(target, swept, scores, alone, trials.numbers().keeping(heads - heads)),
    }
    run = Run(
        group_name(f"circuit/{spec.name}", name),
        origin_of(swept.attrs),
        {
            "how": repr(spec),
            "target": [target.spelled, target.keep, by_estimate],
            "order": order,
            "metric": swept.attrs["metric"],
            "sets": fingerprint([str(each) for each in trials.sets]),
        },
        attributes,
        lambda _: {**report_circuit(trials, scores, effect), **_curve(found)},
    )
    return perform(run, out)


@dataclass(frozen=True)
class Target:
    """How small: a tolerance, in points of the score or as a share of what all heads bring; or a number of heads."""

    points: float | None = None
    share: float | None = None
    keep: int | None = None

    @classmethod
    def parse(cls, tolerance: float | str | None, keep: int | None) -> Target:
        """From at most one of the two.

        >>> Target.parse("5%", None), Target.parse(None, 12).keep
        (Target(points=None, share=0.05, keep=None), 12)
        """
        if keep is not None:
            if tolerance is not None:
                raise InvalidOption("got tolerance= and keep=; expected one of them: keep= fixes the number of heads")
            return cls(keep=keep)
        text = str(DEFAULT if tolerance is None else tolerance).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = float("nan")
        most = 100 if text.endswith("%") else float("inf")
        if not 0 <= number < most:
            raise InvalidOption(
                f"got tolerance={text!r}; expected points of the score such as 1, or a share such as 5%, below 100%"
            )
        return cls(share=number / 100) if text.endswith("%") else cls(points=number)

    @property
    def spelled(self) -> str:
        if self.share is not None:
            return f"{100 * self.share:g} %"
        return "" if self.points is None else f"{self.points:g} point{'' if self.points == 1 else 's'}"


def find_replacement(how: How) -> Spec:
    """The replacement for the other heads; of a patch, the counterpart gives and the text is run."""
    spec = Patch(direction="noise") if how == "patch" else find_how(how)
    if isinstance(spec, Patch) and spec.direction != "noise":
        raise InvalidOption(
            "got a patch with direction='denoise'; expected 'noise': a circuit runs the text, and all other heads take "
            "their outputs from its counterpart"
        )
    return spec


def _check_order(order: str, anatomy: Anatomy, stack: str | None) -> Wanted:
    if "," in order or order == "random":
        raise InvalidOption(f"got order={order!r}; expected one of {', '.join(ORDERS[:-1])} or file:PATH")
    wanted = Wanted.parse(order, None, 1, False, True)
    wanted.check(anatomy.layout, stack, Bundles.of(anatomy, stack=stack))
    return wanted


def _check_metric(task: Task, metric: str | None) -> str | None:
    """The metric that was given, or None for that of the sweep; not one of texts that are generated."""
    if metric is not None and not isinstance(metric, str):
        raise InvalidOption(f"got {getattr(metric, '__name__', metric)!r} as metric=; expected the name of a metric")
    chosen = task_metric(task, metric)
    if isinstance(chosen, Metric) and chosen.generated:
        raise InvalidOption(f"got the metric {chosen.name!r}, of generated texts; expected another one, such as loss")
    return metric


@dataclass(frozen=True)
class Bench:
    """Scores the model with sets of heads replaced, on one half of the examples or on the other."""

    model: PreTrainedModel
    tokenizer: Any
    task: Task
    scope: HeadSet
    spec: Spec
    metric: str | None
    reference: Data | None
    shared: dict[str, Any]
    name: str | None
    """Of the results in the study, where there is one."""
    progress: Progress | None

    def sweep(self, half: Data, by: Any, step: str) -> xr.Dataset:
        """A sweep of the search, named by its step."""
        how: Any = self.spec if isinstance(self.spec, Patch | Resample | Means) else self.spec.name
        return sweep(
            self.model,
            self.tokenizer,
            half,
            task=self.task,
            by=by,
            how=how,
            metric=self.metric,
            reference=self.reference,
            name=self.name and f"{self.name}-{step.replace(', ', '-').replace(' ', '-')}",
            texts=False,
            progress=in_step(self.progress, step),
            **self.shared,
        )

    def rank(self, half: Any, wanted: Wanted, stack: str | None) -> tuple[Sequence[Head], np.ndarray | None]:
        """The heads of the scope, the most needed first, and what each loses alone, if that ordered them."""
        layout = self.scope.layout
        if wanted.names == ("ablation",):
            swept = self.sweep(half, Every("head", stack), "order")
            # The loss shows effects that flip no prediction.
            losses = "loss_delta" in swept
            effect: np.ndarray = (
                swept["loss_delta"].values if losses else lost(swept["delta"].values, swept.attrs["higher_is_better"])
            )
            return by_values(effect, layout, stack)[::-1], effect
        shared = {"task": self.task, **self.shared}
        source = Source(self.model, self.tokenizer, half, layout, stack, shared, self.name, self.progress)
        (order,) = find_orders(source, wanted)[0].values()
        return order[::-1], None

    def judge(self, half: Data, target: Target) -> Any:
        """The margins of sets of kept heads on this half; what cannot be is refused at the first step."""

        def margins(step: str, kept: Sequence[Kept]) -> list[Margin]:
            layout = self.scope.layout
            sets = [*(self.scope - HeadSet(each, layout) for each in kept), self.scope]
            swept_sets = each_once(sets)
            places = {each.heads: place for place, each in enumerate(swept_sets, 1)}
            swept = self.sweep(half, swept_sets, step)
            scores = StoredScores.read(swept, self.task.kind, str(swept.attrs["metric"]), self.shared["seed"])
            none = places[self.scope.heads]
            if target.keep is None:
                _check_difference(target, swept, scores, none)
            return [margin_of(target, swept, scores, places[each.heads], none) for each in sets[:-1]]

        return margins


def margin_of(target: Target, swept: xr.Dataset, scores: StoredScores, number: int, none: int) -> Margin:
    """How far the set with this number is within the tolerance; without one, how much better it is than the model."""
    if target.share is not None:
        weights = np.zeros(len(scores.scores))
        weights[number] += 1
        weights[0] -= 1 - target.share
        weights[none] -= target.share
        return Margin(*scores.better(weights))
    allowed = tolerance_of(target.points or 0.0, str(swept.attrs["metric"]), float(scores.scores[0]))
    ends = [float(swept[name].values[number - 1]) for name in ("delta", "bound_low", "bound_high")]
    change, worst, best = ends if scores.sign > 0 else (-ends[0], -ends[2], -ends[1])
    return Margin(change + allowed, worst + allowed, best + allowed)


def _check_difference(target: Target, swept: xr.Dataset, scores: StoredScores, none: int) -> None:
    """A circuit is what keeps a score that would be lost without any head."""
    metric, whole, replaced = swept.attrs["metric"], scores.scores[0], scores.scores[none]
    said = f"{metric} is {whole:.4g}, and {replaced:.4g} with all heads replaced"
    if scores.sign * (whole - replaced) <= 0:
        raise DataProblem(f"{said}: no score that heads could keep; choose another replacement, metric or data")
    if margin_of(target, swept, scores, none, none).within(by_estimate=False):
        raise DataProblem(f"{said}: within the tolerance of {target.spelled} without any head; give a smaller one")


def _verdict(target: Target, swept: xr.Dataset, scores: StoredScores, alone: int, none: int) -> str:
    """What the held-out examples say about the tolerance; empty without one."""
    if target.keep is not None or alone == 0:
        return ""
    margin = margin_of(target, swept, scores, alone, none)
    return str(judge_bounds(margin.worst, margin.best))


def _curve(found: Found) -> Labelled:
    """The nested sets of the search, by size."""
    sizes = sorted(found.curve)
    if not sizes:
        return {}
    values = np.array([[found.curve[size].value, found.curve[size].worst, found.curve[size].best] for size in sizes])
    schema = Schema(
        "How far the first heads of the order alone are within the tolerance",
        "",
        "above 0: within it, on the examples that selected the circuit",
        signed=True,
    )
    arrays: dict[str, tuple[Any, ...]] = {
        "kept": (("kept",), np.array(sizes)),
        "margin": (("kept",), values[:, 0]),
        "margin_bound_low": (("kept",), values[:, 1]),
        "margin_bound_high": (("kept",), values[:, 2]),
    }
    return with_schemas(arrays, {"margin": schema, "kept": Schema("Heads kept", range=(1, None))})
