"""Which heads stand out: for every variable whose schema has a superlative, the head with the largest value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.core.schema import Schema
from headcount.story.earlier import schemas_of
from headcount.story.names import digits_for, spell_head, spell_interval
from headcount.story.roles import role_tests

Results = Mapping[str, xr.Dataset]
"""By the name of the measure, followed by `@` and the name of the result if it has one."""
VISIBLE = 0.0005
"""Smaller values are printed as 0.000: no head stands out by what none does."""


def strongest(
    dataset: xr.Dataset, variable: str, choice: dict[str, Any], smallest: bool = False, stacked: bool | None = None
) -> tuple[str, float, str]:
    """The name of the head with the largest value, the value, and the value with its interval as text."""
    arrays = [
        (dataset[name].sel(choice) if choice else dataset[name]).transpose(*HEAD_DIMS).values
        for name in (variable, f"{variable}_low", f"{variable}_high")
    ]
    filled = np.where(np.isnan(arrays[0]), -np.inf, -arrays[0] if smallest else arrays[0])
    index = np.unravel_index(int(filled.argmax()), filled.shape)
    value, low, high = (float(array[index]) for array in arrays)
    several = len(dataset["stack"]) > 1 if stacked is None else stacked
    return spell_head(dataset, index, several), value, spell_interval((value, low, high), min(3, digits_for(low, high)))


def superlatives(
    results: Results, kind: str = "measures"
) -> Iterator[tuple[str, xr.Dataset, str, dict[str, Any], Schema, str]]:
    """All variables with a superlative that have any value: the name of the result, the result, the variable, the
    choice along its further dimension, its schema, and the superlative.
    """
    for name, dataset in results.items():
        for variable, schema in schemas_of(f"{kind}/{name}", dataset).items():
            further = [str(dim) for dim in dataset[variable].dims if dim not in HEAD_DIMS]
            choices = [{further[0]: label} for label in schema.most_of] if further else [{}]
            for choice in choices:
                known = schema.most and not (choice and choice[further[0]] not in dataset[further[0]].values)
                if known and np.isfinite(dataset[variable].sel(choice).values).any():
                    yield name, dataset, variable, choice, schema, schema.most.format(*choice.values())


def _claimed(results: Results) -> Callable[[str, str, np.ndarray], bool]:
    """Whether any head stands out by a variable of a result: of a role, only a head that has it (`roles.py`)."""
    has = {
        (test.measure, test.variable): bool((test.has.values == 1).any())
        for test in role_tests(results)
        if test.is_tested
    }

    def claimed(name: str, variable: str, values: np.ndarray) -> bool:
        visible = bool(np.nanmax(values) >= VISIBLE)
        return has.get((name, variable), visible)

    return claimed


def standing_out(results: Results) -> list[tuple[str, str, str, str]]:
    """Rows: a superlative, the head that it holds for, its value, and that of the median head."""
    rows, claimed = [], _claimed(results)
    for name, dataset, variable, choice, _, most in superlatives(results):
        values = dataset[variable].sel(choice).values
        head, _, spelled = (
            strongest(dataset, variable, choice) if claimed(name, variable, values) else ("no head", 0.0, "")
        )
        rows.append((most, head, spelled, f"{np.nanmedian(values):.3f}"))
    return rows


def standing_out_sentences(results: Results, stacked: bool) -> list[str]:
    """A sentence for each measure: which heads stand out by it, each with its value and interval."""
    parts: dict[str, list[str]] = {}
    claimed = _claimed(results)
    said: set[tuple[str, str, str]] = set()
    for name, dataset, variable, choice, schema, most in superlatives(results):
        if not claimed(name, variable, dataset[variable].sel(choice).values):
            continue
        head, _, spelled = strongest(dataset, variable, choice, stacked=stacked)
        chance = ""
        if isinstance(schema.baseline, str) and schema.baseline in dataset:
            chance = f" ({float(np.nanmean(dataset[schema.baseline].values)):.2f} by chance)"
            if (name, head, spelled) in said:
                continue  # where texts start with [CLS], it is the first token too
            said.add((name, head, spelled))
        parts.setdefault(name, []).append(f"{head} {most}: {spelled}{chance}")
    suffixes = {name: f" ({name.partition('@')[2]})" if "@" in name else "" for name in parts}
    return [f"{'; '.join(clauses)}{suffixes[name]}." for name, clauses in parts.items()]
