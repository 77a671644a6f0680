"""The options of a choice to a budget, with their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedModel

from headcount.budgets.budget import Budget, check_what
from headcount.choosing.orders import DEFAULT
from headcount.core.options import one_of, without_effect
from headcount.costs.cost import check_length
from headcount.data.number_options import check_numbers
from headcount.models.longest import longest_positions

SCORES = ("fisher", "taylor", "michel")
REFITS = ("weights", "scales", "none")
BATCH, LENGTH = 16, 128
"""The shape at which speed is measured."""


@dataclass(frozen=True)
class PartOptions:
    """What may go, the budget, and how: see `headcount choose --help`."""

    what: str
    budget: Budget
    score: str = "fisher"
    own_labels: bool = False
    rearrange: bool = False
    refit: str = "weights"
    multiple: int | None = None
    """Numbers of units are rounded to multiples of this; by default to 32 in wide layers."""
    at_least: int = 0
    """Heads that every layer keeps."""
    steps: int = 10
    randoms: int = 1
    batch: int = BATCH
    length: int = LENGTH

    def __post_init__(self) -> None:
        check_what(self.what)
        one_of("score", self.score, SCORES)
        one_of("refit", self.refit, REFITS)
        check_numbers(
            multiple=self.multiple, steps=self.steps, randoms=self.randoms, batch=self.batch, length=self.length
        )
        if self.what == "heads":
            without_effect("multiple", self.multiple, "it rounds numbers of units, and what=heads removes none")

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal to resume."""
        names = ("what", "score", "own_labels", "rearrange", "refit", "multiple", "at_least", "steps", "randoms")
        budget = {"budget": self.budget.spelled, "by_estimate": self.budget.by_estimate}
        return {name: getattr(self, name) for name in (*names, "batch", "length")} | budget


def find_length(model: PreTrainedModel, length: int | None) -> int:
    """The length at which speed is measured: the one that was asked for, or 128 if the model takes so many tokens."""
    check_numbers(length=length)
    if length is not None:
        check_length("the model", model, length)
        return length
    return min(LENGTH, longest_positions(model) or LENGTH)


def refuse_orders(
    drop: int | str | None = None,
    keep: int | str | None = None,
    by: str = "head",
    order: str | Sequence[str] = DEFAULT,
    anew: bool = False,
    normed: bool = True,
    stack: str | None = None,
) -> None:
    """Refuse options of heads that are removed in an order."""
    given: dict[str, Any] = {"drop": drop, "keep": keep, "anew": anew, "stack": stack, "no_normed": not normed}
    given |= {"by": None if by == "head" else by, "order": None if order == DEFAULT else order}
    for option, value in given.items():
        without_effect(option, value, "what stays is chosen to a budget: operations=, weights=, faster= or tolerance=")
