"""How much of every block to keep under a budget: a multiple-choice knapsack, solved exactly on a grid of costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headcount.errors import InvalidOption

SAME = 1e-9
"""Budgets that differ by less than this share are the same: costs are sums of many numbers."""


def least_cost(costs: Sequence[np.ndarray]) -> float:
    """What the cheapest option of every block costs together."""
    return float(sum(options.min() for options in costs))


def check_budget(costs: Sequence[np.ndarray], budget: float) -> None:
    """An error that says what can be reached, for a budget below it."""
    least = least_cost(costs)
    if not budget >= least - SAME * abs(least):
        raise InvalidOption(
            f"got a budget of {budget:.6g}, but {least:.6g} is the least that can be reached, with as little of every "
            f"layer as may be kept; give {least:.6g} or more"
        )


def best_counts(
    losses: Sequence[np.ndarray], costs: Sequence[np.ndarray], budget: float, grid: int = 20000
) -> list[int]:
    """For every block the index of an option, so that the sum of losses is least and that of costs within the budget.

    What a block costs beyond its cheapest option is counted in steps of 1/`grid` of the budget that is left then,
    rounded up: the budget is kept, and the sum of losses is the least of all that fit by their rounded costs.
    Whole-number costs are counted exactly if the grid has room for them. Of equal losses a block takes the cheapest.
    """
    check_budget(costs, budget)
    steps, size = _steps(costs, budget - least_cost(costs), grid)
    best = np.zeros(size + 1)
    taken = []
    for block_losses, block_costs, block_steps in zip(losses, costs, steps, strict=True):
        lowest, chosen = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=np.int32)
        for option in np.argsort(block_costs, kind="stable"):
            step = block_steps[option]
            if step > size:
                break
            found = best[: size + 1 - step] + block_losses[option]
            better = found < lowest[step:]
            np.copyto(lowest[step:], found, where=better)
            np.copyto(chosen[step:], option, where=better)
        best = lowest
        taken.append(chosen)
    place, counts = size, []
    for chosen, block_steps in zip(reversed(taken), reversed(steps), strict=True):
        option = int(chosen[place])
        counts.append(option)
        place -= int(block_steps[option])
    return counts[::-1]


def _steps(costs: Sequence[np.ndarray], left: float, grid: int) -> tuple[list[np.ndarray], int]:
    """For each block the costs beyond its cheapest option in steps, and how many steps the budget has."""
    above = [options - options.min() for options in costs]
    whole = np.concatenate(above)
    most = sum(float(options.max()) for options in above)
    left = min(max(left, 0.0) * (1 + SAME), most)
    if most == 0:
        return [np.zeros(len(options), dtype=np.int64) for options in above], 0
    if (whole == np.rint(whole)).all() and whole.max() < 2**53:
        divisor = int(np.gcd.reduce(whole.astype(np.int64)))
        if left / divisor <= grid:
            return [(options / divisor).astype(np.int64) for options in above], int(left // divisor)
    if left >= most:  # everything may be kept, whatever rounding would say
        return [np.zeros(len(options), dtype=np.int64) for options in above], 0
    if left == 0:
        return [np.where(options > 0, 1, 0) for options in above], 0
    return [
        np.where(options > left, grid + 1, np.ceil(np.minimum(options, left) / left * grid)).astype(np.int64)
        for options in above
    ], grid
