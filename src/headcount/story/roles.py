"""What each head does: its roles, those that exceed chance clearly, with strengths that can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.claims import significant
from headcount.core.schema import STRENGTH, Schema
from headcount.core.statistics import false_discovery
from headcount.story.earlier import schemas_of
from headcount.story.role_names import BROAD, current_name

LEAST = 0.1
"""The least strength of a role: a tenth of the way from chance to a head that does nothing else. Over many texts tiny
excesses are significant; on real text they make up the bulk of all heads (docs/concepts.md, Roles)."""
CLEAR = f"significantly above chance, with a strength of at least {LEAST:g}"
MOST_EXAMPLES = 5
ByHead = Callable[[xr.DataArray], list[float | None]]
Measures = Mapping[str, xr.Dataset]


@dataclass(frozen=True)
class Role:
    """A role of a head: its name, its strength (0: chance, 1: nothing else) and the interval of that over the texts."""

    name: str
    strength: float
    low: float
    high: float


@dataclass(frozen=True)
class RoleTest:
    """One role asked of all heads: its strength with its interval, and the heads that have it [stack, layer, head]."""

    measure: str
    variable: str
    schema: Schema
    strength: xr.DataArray
    low: xr.DataArray
    high: xr.DataArray
    has: xr.DataArray
    is_tested: bool
    """Whether the result knows chance; otherwise `has` compares with a threshold."""

    @property
    def name(self) -> str:
        return current_name(self.schema.role)


def role_tests(measures: Measures) -> list[RoleTest]:
    """All roles that the measures ask about.

    A head has a role if its excess over chance is significant (q < 0.05; false discovery rate over all heads and roles
    together), has an interval above 0, and is not trivially small (`LEAST`). A result without chance levels, as those
    of earlier versions are, has no strengths either: there the value is compared with the threshold of its schema.
    """
    asked = [
        (name, variable, schema, dataset)
        for name, dataset in measures.items()
        for variable, schema in schemas_of(f"measures/{name}", dataset).items()
        if schema.role
    ]
    p = [
        dataset[f"{variable}{STRENGTH}_p"].values.ravel()
        for _, variable, _, dataset in asked
        if f"{variable}{STRENGTH}_p" in dataset
    ]
    q = false_discovery(np.concatenate(p)) if p else np.zeros(0)
    tests = []
    for name, variable, schema, dataset in asked:
        tested = f"{variable}{STRENGTH}_p" in dataset
        value = f"{variable}{STRENGTH}" if tested else variable
        strength = dataset[value]
        low, high = (dataset.get(f"{value}_{end}", strength) for end in ("low", "high"))
        if tested:
            own, q = q[: strength.size].reshape(strength.shape), q[strength.size :]
            has = significant(own) & (low.values > 0) & (strength.values >= LEAST)
        else:
            has = strength.values >= schema.role_from
        known = np.where(np.isfinite(strength.values), has, np.nan)
        tests.append(RoleTest(name, variable, schema, strength, low, high, strength.copy(data=known), tested))
    return sorted(tests, key=lambda test: (test.schema.rank, test.variable))


def find_roles(measures: Measures, by_head: ByHead) -> list[list[Role] | None]:
    """The roles of each head, the strongest first; an empty list for no clear role, None if nothing was measured.

    `by_head` returns the values of an array for all heads. That a head attends broadly comes after all that it does
    in particular, however weak.
    """
    columns = [
        (test.name, *(by_head(array) for array in (test.has, test.strength, test.low, test.high)))
        for test in role_tests(measures)
    ]
    if not columns:
        return []
    return [
        _roles_of([(name, *(part[head] for part in parts)) for name, *parts in columns])
        for head in range(len(columns[0][1]))
    ]


def _roles_of(rows: list[tuple[Any, ...]]) -> list[Role] | None:
    """The roles of one head from rows: a name, whether the head has the role, and its strength with the interval."""
    if all(has is None for _, has, *_ in rows):
        return None
    found: list[Role] = []
    for name, has, *numbers in rows:
        role = Role(name, *(np.nan if number is None else number for number in numbers))
        # The first token and [CLS] are one question where texts start with [CLS]: it is answered once.
        same = any((role.strength, role.low, role.high) == (other.strength, other.low, other.high) for other in found)
        if has and not same:
            found.append(role)
    return sorted(found, key=lambda role: (role.name == BROAD, -role.strength))


def roles_sentence(measures: Measures, by_head: ByHead) -> list[str]:
    """How many heads have a clear role, and which are the most frequent strongest ones; nothing without chance."""
    if not any(test.is_tested for test in role_tests(measures)):
        return []
    known = [each for each in find_roles(measures, by_head) if each is not None]
    counts = Counter(each[0].name for each in known if each)
    if not counts:
        return [f"None of {len(known)} heads has a clear role ({CLEAR})."]
    listed = ", ".join(f"{name} ({count})" for name, count in counts.most_common(MOST_EXAMPLES))
    which = "most frequent strongest roles" if len(counts) > MOST_EXAMPLES else "strongest roles"
    return [f"{counts.total()} of {len(known)} heads have a clear role ({CLEAR}); {which}: {listed}."]


def find_examples(measures: Measures, by_head: ByHead) -> list[dict[str, Any]]:
    """The best examples of what heads do: for each role the head that has it most, the strongest first, five at most.

    No head is shown twice: one that leads in two roles is shown with the stronger one. `head`: its place in `by_head`.
    """
    titles = {test.name: test.schema.does or f"Role: {test.name}" for test in role_tests(measures)}
    having = [
        (role.name == BROAD, -role.strength, head, role)
        for head, roles in enumerate(find_roles(measures, by_head))
        for role in roles or ()
    ]
    best: dict[str, dict[str, Any]] = {}
    shown: set[int] = set()
    for *_, head, role in sorted(having, key=lambda row: row[:3]):
        if role.name in best or head in shown:
            continue
        shown.add(head)
        numbers = {"strength": role.strength, "low": role.low, "high": role.high}
        best[role.name] = {"title": titles[role.name], "role": role.name, "head": head, **numbers}
    return list(best.values())[:MOST_EXAMPLES]
