"""Every variable of a budget says what it is."""

from __future__ import annotations

from headcount.core.budget_schemas import budget_schemas
from headcount.core.schema import read_schema
from tests.planted_budgets import CONFIRMED, budget_dataset


def test_every_variable_has_a_schema() -> None:
    budget = budget_dataset(CONFIRMED, 10_000)
    assert {str(name) for name in budget.variables} - {"stack", "layer"} == set(budget_schemas("accuracy", True))
    assert read_schema(budget["operations"]) == budget_schemas("accuracy", True)["operations"]


def test_no_head_is_coloured_by_it() -> None:
    assert [name for name, schema in budget_schemas("accuracy", True).items() if schema.shown] == ["order"]


def test_worse_has_the_direction_of_the_metric() -> None:
    assert budget_schemas("accuracy", True)["delta"].direction.startswith("below 0: worse")
    assert budget_schemas("loss", False)["delta"].direction.startswith("above 0: worse")
