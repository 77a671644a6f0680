"""What is removed to reach a share of a currency: the exact best set by the scores, or a random one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.budgets.blocks import Block, Cost, read_blocks
from headcount.budgets.budget import Currency
from headcount.budgets.knapsack import SAME, best_counts, least_cost
from headcount.budgets.last_head import with_a_head
from headcount.budgets.options import PartOptions
from headcount.budgets.part_sets import losses_of, select
from headcount.budgets.random_sets import random_set
from headcount.budgets.rearrangement import rearrange
from headcount.budgets.scores import read_scores, read_slopes
from headcount.core.units import Selection
from headcount.costs.layer_times import layer_times
from headcount.costs.operations import part_costs
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey

LEAST_ROUNDED = 512
"""Layers with fewer units than this are not rounded to whole kernels' widths."""
MULTIPLE = 32
"""Widths that kernels like."""


def find_multiple(anatomy: Anatomy, multiple: int | None) -> int:
    """What numbers of units are rounded to: what was asked for, or 32 where layers are wide."""
    if multiple is not None:
        return multiple
    widths = [anatomy.units.width(stack) for stack in anatomy.units.stacks]
    return MULTIPLE if widths and min(widths) >= LEAST_ROUNDED else 1


@dataclass(frozen=True)
class Planner:
    """The scores of all parts and what keeping them costs in the budget's currency."""

    anatomy: Anatomy
    currency: Currency
    scores: Mapping[LayerKey, np.ndarray]
    slopes: Mapping[LayerKey, np.ndarray] | None
    """By example, where sets are rearranged."""
    costs: Mapping[LayerKey, Cost]
    """Of each part of a block, or of each number of parts that it may keep."""
    fixed: float
    """What is left of the whole model's cost when all parts are gone."""
    multiple: int = 1
    at_least: int = 0

    def blocks(self, what: str) -> list[Block]:
        """What may go. Heads that share keys and values go together: their cost is exact, and the cache shrinks."""
        grouped = any(block.kv_heads < block.count for block in self.anatomy)
        return read_blocks(
            self.anatomy,
            what,
            self.costs,
            multiple=self.multiple,
            at_least=self.at_least,
            by="group" if grouped else "head",
        )

    @property
    def whole(self) -> float:
        """The cost of the whole model."""
        return self.fixed + sum(float(block.costs[-1]) for block in self.blocks("both"))

    def least(self, what: str) -> float:
        """The smallest share of the whole cost that can be reached."""
        least = min(least_cost([block.costs for block in blocks]) for blocks in with_a_head(self.blocks(what)))
        return (self._untouched(what) + least) / self.whole

    def _untouched(self, what: str) -> float:
        """The cost of everything that may not go."""
        touched = {block.key for block in self.blocks(what)}
        return self.fixed + sum(float(block.costs[-1]) for block in self.blocks("both") if block.key not in touched)

    def check(self, what: str, left: float, spelled: str) -> None:
        """Refuse a budget that cannot be reached, and say what can."""
        least = self.least(what)
        if left < least:
            share, most = f"{100 * np.ceil(1000 * least) / 1000:.1f}%", np.floor(100 / least) / 100
            reach = f"{self.currency}={share} or more"
            if self.currency == "time":
                reach = f"faster={most:g} or less" if most > 1 else "operations= or weights= instead"
            raise InvalidOption(
                f"got {spelled}; with as few {'heads and units' if what == 'both' else what} as can stay "
                f"{share} of the model's {self.currency} would be left: expected {reach}"
                + ("" if what == "both" else ", or what='both'")
            )

    def best(self, what: str, left: float) -> Selection:
        """The set that keeps the largest scores within the budget, exactly; rearranged if slopes are given."""
        blocks, budget = self.blocks(what), left * self.whole - self._untouched(what)
        removed, _ = self._best(blocks, budget)
        if self._all_heads(removed):
            removed, _ = min((self._best(each, budget) for each in _affordable(blocks, budget)), key=lambda one: one[1])
        return removed if self.slopes is None else rearrange(self.anatomy, blocks, removed, self.slopes)

    def _best(self, blocks: list[Block], budget: float) -> tuple[Selection, float]:
        """The best set of these blocks, and the sum of the scores that it loses."""
        losses = [losses_of(self.scores[block.key], block) for block in blocks]
        counts = best_counts(losses, [block.costs for block in blocks], budget)
        lost = sum(float(loss[count]) for loss, count in zip(losses, counts, strict=True))
        return select(self.anatomy, blocks, self.scores, counts), lost

    def _all_heads(self, removed: Selection) -> bool:
        return len(removed.heads) == self.anatomy.layout.count

    def random(self, what: str, left: float, seed: int) -> Selection:
        """A random set within the same budget: the control."""
        blocks, budget = self.blocks(what), left * self.whole - self._untouched(what)
        removed = random_set(self.anatomy, blocks, budget, seed)
        if self._all_heads(removed):
            ways = _affordable(blocks, budget)
            removed = random_set(self.anatomy, ways[seed % len(ways)], budget, seed)
        return removed


def _affordable(blocks: list[Block], budget: float) -> list[list[Block]]:
    """The ways of keeping a head that the budget has room for."""
    ways = [(least_cost([block.costs for block in each]), each) for each in with_a_head(blocks)]
    return [each for least, each in ways if least <= max(budget * (1 + SAME), min(least for least, _ in ways))]


def check_budget(model: PreTrainedModel, options: PartOptions) -> None:
    """Refuse a share of operations or weights that cannot be reached, before examples are read and parts are scored."""
    budget = options.budget
    if budget.left is None or budget.currency == "time":  # times are measured later
        return
    anatomy = read_anatomy(model)
    costs, fixed = _count_costs(model, options)
    multiple = find_multiple(anatomy, options.multiple)
    planner = Planner(anatomy, budget.currency, {}, None, costs, fixed, multiple, options.at_least)
    planner.check(options.what, budget.left, budget.spelled)


def _count_costs(model: PreTrainedModel, options: PartOptions) -> tuple[dict[LayerKey, Cost], float]:
    """Operations or weights: of each part of a block, and of everything else."""
    counted = part_costs(model, options.length)
    if options.budget.currency == "weights":
        return dict(counted.weights), counted.fixed_weights
    return dict(counted.operations), counted.fixed_operations


def make_planner(
    model: PreTrainedModel,
    options: PartOptions,
    estimates: xr.Dataset,
    study: Any,
    name: str | None,
    progress: Progress | None,
) -> Planner:
    """A planner in the budget's currency: operations and weights are counted, times are measured by a table."""
    anatomy, currency = read_anatomy(model), options.budget.currency
    costs: Mapping[LayerKey, Cost]
    if currency == "time":
        times = layer_times(
            model, batch=options.batch, length=options.length, study=study, name=name, progress=progress
        )
        costs = {
            block.layer_key: np.array([times.seconds(block.layer_key, count) for count in range(block.count + 1)])
            for block in anatomy.blocks()
        }
        fixed = times.rest
    else:
        costs, fixed = _count_costs(model, options)
    slopes = read_slopes(anatomy, estimates) if options.rearrange else None
    multiple = find_multiple(anatomy, options.multiple)
    scores = read_scores(anatomy, estimates, options.score)
    return Planner(anatomy, currency, scores, slopes, costs, fixed, multiple, options.at_least)
