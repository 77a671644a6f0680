"""What each head mostly does: one role per head, by a rule that can be checked against the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from headcount.core.schema import Schema
from headcount.story.earlier import schemas_of

MIXED = "mixed"
LAST = Schema("").rank


def find_roles(
    measures: Mapping[str, xr.Dataset], by_head: Callable[[xr.DataArray], list[float | None]]
) -> tuple[list[int | None], dict[str, int]]:
    """For each head the index of its role (None if nothing was measured), and the names of the roles with their ranks.

    Roles are tried in the order of their ranks in the schemas; a head has the first one whose threshold it reaches.
    `by_head` returns the values of an array for all heads.
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
    ranks = {schema.role: schema.rank for schema, _ in rules} | {MIXED: LAST}
    used = {role: rank for role, rank in ranks.items() if role in roles}
    return [None if role is None else list(used).index(role) for role in roles], used
