"""The share of time for which a cut model is as fast as asked: by the table, corrected by what is measured."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from headcount.budgets.options import PartOptions
from headcount.budgets.planner import Planner
from headcount.core.schema import Schema, with_schemas
from headcount.costs.cost import time_both
from headcount.engines.ledger import perform
from headcount.engines.run import Run, group_name
from headcount.errors import InvalidOption
from headcount.models.fingerprint import find_origin
from headcount.pruning.prune import prune

ROUNDS, REPEATS = 5, 9
SCHEMAS = {"share": Schema("Share of the table's time that is left", range=(0, 1))}
NEAR = 0.95
"""A model that is less than this much faster than asked for is not made larger again."""
SLACK = 0.99
"""A model that is this near to the speed that was asked for is there: a time is measured, not computed."""


def reach_speed(model: PreTrainedModel, planner: Planner, options: PartOptions, study: Any, name: str | None) -> float:
    """The share of the table's time at which the cut model really is as fast as asked; stored, so that runs resume."""
    run = Run(
        group_name("pruning/speed", name),
        find_origin(model, "random tokens", 0),
        options.identity,
        {},
        lambda _: with_schemas({"share": ((), _search(model, planner, options))}, SCHEMAS),
    )
    return float(perform(run, study)["share"])


def _search(model: PreTrainedModel, planner: Planner, options: PartOptions) -> float:
    """The largest share whose cut model is as fast as asked; both directions, as the table and the clock may err."""
    asked = options.budget.left
    assert asked is not None  # a speed was asked for
    least = planner.least(options.what)
    share, reached, fastest = asked, 0.0, 1.0
    for _ in range(ROUNDS):
        smaller = prune(copy.deepcopy(model), planner.best(options.what, share))
        before, after = time_both(model, smaller, options.batch, options.length, REPEATS)
        measured = float(np.median(after / before))
        fastest = min(fastest, measured)
        if measured * SLACK <= asked:
            reached = max(reached, share)
            if measured >= asked * NEAR:
                break
        step = min(max(share * asked / measured, least), 1.0)
        # A model that was fast enough is not left for one that is not: the search goes on above it.
        share = (share + reached) / 2 if step <= reached else step
    if reached:
        return reached
    raise InvalidOption(
        f"got {options.budget.spelled}; the model could be made {1 / fastest:.2f} times as fast at "
        f"{options.batch} x {options.length} tokens on this machine: ask for less, or for operations="
    )
