"""The score against the heads that are left, for several orders at once: all steps of all orders share their passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, find_known_task, task_metric
from headcount.ablation.sweep import check_generate, sweep
from headcount.choosing.bundles import Bundles
from headcount.choosing.halves import read_halves
from headcount.choosing.orders import DEFAULT, Source, Wanted, find_orders, removals
from headcount.core.heads import Head
from headcount.core.options import without_effect
from headcount.core.provenance import fingerprint, origin_of
from headcount.core.renamed import renamed
from headcount.core.results import label_axes
from headcount.core.schema import Schema, with_schemas
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.tasks import Task
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress
from headcount.engines.run import Run, group_name
from headcount.errors import InvalidOption
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy

SAID = ("task", "metric", "higher_is_better", "test", "data", ATTRIBUTE)
PER_STEP = ("score", "delta", "low", "high", "bound_low", "bound_high", "p")
SINGLE = ("baseline", "baseline_low", "baseline_high")
SCHEMAS = {
    "order": Schema("Order of the heads"),
    "removed": Schema("Heads gone", range=(1, None), paper="Michel 2019, Figure 3"),
    "kept": Schema("Heads left", range=(0, None)),
    "sequence": Schema("Heads in the order in which they go"),
}
"""The scores and their changes mean what the sweep over the sets of heads says of them."""


@renamed(orders="order=", max_new_tokens='generate={"max_new_tokens": ...}')
@takes_compiled
@takes_engine
@writes_study("out")
def curve(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    order: str | Sequence[str] | Mapping[str, Sequence[Head]] = DEFAULT,
    *,
    task: str | Task | None = None,
    steps: int | Sequence[int] = 10,
    by: str = "head",
    randoms: int | None = None,
    anew: bool = False,
    normed: bool = True,
    stack: str | None = None,
    metric: Any = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    generate: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Scores as a Dataset with dims (order, removed): the first heads of each order at zero, step by step.

    `order`: names of orders, with `randoms`, `anew`, `normed` and `stack`, as for `choose`: one half of the examples
    then orders the heads and the other half scores the steps. Or, by name, the heads in the order in which they go:
    then all examples score. `steps`: how many, or the numbers of heads that are gone after each. `by`: what goes
    together, a head or (`"group"`) the query heads of a key/value group, as for `choose`. `sequence`: the heads
    by rank. `score`, `delta` against the whole model with its paired 95 % interval `low` to `high`, `p`; steps beyond
    the end of a shorter order are NaN. `out`: a study folder; the same call resumes. Only heads go here: curves of
    feed-forward units, alone or with heads, come from `choose(what="both")`.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    anatomy = read_anatomy(model)
    layout, bundles = anatomy.layout, Bundles.of(anatomy, by, stack)
    if isinstance(order, Mapping):
        for option, given in (("randoms", randoms), ("anew", anew), ("stack", stack)):
            without_effect(option, given, "order= says which heads go")
        for which, heads in order.items():
            bundles.check_order(heads, layout, f"the order {which}")
        orders = order
    else:
        wanted = Wanted.parse(order, randoms, steps if isinstance(steps, int) else len(steps), anew, normed)
        wanted.check(layout, stack, bundles)
        task = find_known_task(data, task)
        check_generate(generate, task_metric(task, metric))
        check_classifier(model, task)
        first, data = read_halves(data, task, limit, seed, tokenizer)
        shared = {"task": task, "seed": seed, "max_length": max_length, "out": out}
        source = Source(model, tokenizer, first, layout, stack, shared, name, progress, by)
        orders, _ = find_orders(source, wanted)
        limit = None
    if not orders or not all(orders.values()):
        raise InvalidOption("got no heads to remove; expected at least one order with heads")
    longest = max(map(len, orders.values()))
    counts = removals(longest, steps, bundles.size) if isinstance(steps, int) else sorted(set(steps))
    if not counts or counts[0] < 1 or counts[-1] > longest or any(count % bundles.size for count in counts):
        multiples = f", multiples of {bundles.size}" if bundles.size > 1 else ""
        raise InvalidOption(f"got steps of {list(counts)} heads; expected numbers from 1 to {longest}{multiples}")
    places: dict[frozenset[Head], int] = {}
    for heads in orders.values():
        for count in counts:
            if count <= len(heads):
                places.setdefault(frozenset(heads[:count]), len(places))
    swept = sweep(
        model,
        tokenizer,
        data,
        task=task,
        by=[sorted(heads) for heads in places],
        how="zero",
        metric=metric,
        limit=limit,
        seed=seed,
        max_length=max_length,
        generate=generate,
        out=out,
        name=name,
        texts=False,
        progress=progress,
    )

    def at(order: Sequence[Head], count: int, values: np.ndarray) -> float:
        return float(values[places[frozenset(order[:count])]]) if count <= len(order) else float("nan")

    arrays: dict[str, tuple[Any, ...]] = {
        key: (
            ("order", "removed"),
            np.array([[at(order, count, swept[key].values) for count in counts] for order in orders.values()]),
            swept[key].attrs,
        )
        for key in PER_STEP
    }
    width = max(map(len, orders.values()))
    spelled = [[*map(layout.spell, order), *[""] * (width - len(order))] for order in orders.values()]
    arrays |= {key: ((), float(swept[key]), swept[key].attrs) for key in SINGLE}
    steps_of = {
        "sequence": (("order", "rank"), np.array(spelled, dtype=object)),
        "kept": (("removed",), layout.count - np.array(counts)),
        **label_axes({"order": list(orders), "removed": counts}),
    }
    run = Run(
        group_name("pruning/curve", name),
        origin_of(swept.attrs),
        {"orders": fingerprint([list(orders), spelled]), "steps": counts},
        {key: swept.attrs[key] for key in SAID if key in swept.attrs}
        | {"examples": swept.sizes["example"], "heads": layout.count}
        | ({"heads_per_group": bundles.size} if bundles.by == "group" else {}),
        lambda _: {**arrays, **with_schemas(steps_of, SCHEMAS)},
    )
    return perform(run, out).set_coords("kept")
