"""What does each head mostly do? One word for each, by a rule that anyone can check against the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from headcount.story.earlier import schemas_of

MIXED = "mixed"


def find_roles(
    measures: Mapping[str, xr.Dataset], by_head: Callable[[xr.DataArray], list[float | None]]
) -> tuple[list[int | None], list[str]]:
    """For each head the number of its role, None where nothing is known of it, and the roles' names.

    A head has the first role, by the ranks in the schemas of the measures, of which it has at least the threshold.
    `by_head` gives the values of an array for all heads.
    """
    rules = [
        (schema, by_head(dataset[variable]))
        for name, dataset in measures.items()
        for variable, schema in schemas_of(f"measures/{name}", dataset).items()
        if schema.role
    ]
    rules.sort(key=lambda rule: rule[0].rank)
    roles: list[str | None] = []
    for values in zip(*(column for _, column in rules), strict=True):
        known = [(schema, value) for (schema, _), value in zip(rules, values, strict=True) if value is not None]
        reached = (schema.role for schema, value in known if value >= schema.role_from)
        roles.append(next(reached, MIXED) if known else None)
    order = [*(schema.role for schema, _ in rules), MIXED]
    used = [role for role in dict.fromkeys(order) if role in roles]
    return [None if role is None else used.index(role) for role in roles], used
