"""What one head looks at: its roles, the pattern of its maps, and the measures by which it stands out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headcount.core.claims import STANDS_OUT, stands_out
from headcount.core.heads import Head
from headcount.core.results import HEAD_DIMS
from headcount.core.schema import Schema
from headcount.story.heads import superlatives
from headcount.story.names import spell_head, spell_interval
from headcount.story.one_head.fact import (
    Estimate,
    Fact,
    Number,
    as_numbers,
    head_values,
    known,
    spell_standing,
    spell_value,
    standing,
    value_at,
)
from headcount.story.roles import CLEAR, ByHead, Measures, Role, find_roles, role_tests

MOST = 5
"""Measures that are listed at most, those with the highest rank first."""


def role_facts(measures: Measures, by_head: ByHead, number: int) -> list[Fact]:
    """The roles of a head, the strongest first; `number`: its place in `by_head`. Nothing if none was asked about."""
    roles = find_roles(measures, by_head)
    if not roles or roles[number] is None:
        return []
    own: Sequence[Role] = roles[number] or ()
    tests = role_tests(measures)
    tested = any(test.is_tested for test in tests)
    names = sorted({test.measure for test in tests})
    result = f"measures/{names[0]}" if len(names) == 1 else "measures"
    if not own:
        why = f" (none {CLEAR})" if tested else ""
        return [Fact(f"It has no clear role{why}.", result, {"roles": 0})]
    listed = "; ".join(f"{role.name}, {_strength(role, tested)}" for role in own)
    title = "role" if len(own) == 1 else "roles"
    numbers = {f"{role.name}{end}": number for role in own for end, number in _ends(role).items()}
    scale = "0: chance, 1: nothing else" if tested else "above the threshold of the role; chance is not known"
    return [Fact(f"Clear {title}: {listed} ({scale}).", result, {"roles": len(own), **numbers})]


def _strength(role: Role, tested: bool) -> str:
    return f"{'strength ' if tested else ''}{spell_value((role.strength, role.low, role.high))}"


def _ends(role: Role) -> dict[str, Number]:
    ends = {"": role.strength, " low": role.low, " high": role.high}
    return {end: value if known(value) else None for end, value in ends.items()}


def pattern_facts(name: str, patterns: xr.Dataset, head: Head) -> list[Fact]:
    """The pattern that most of a head's maps have, and their share."""
    code = value_at(patterns["mostly"], head)
    if not known(code):
        return []
    pattern, shares = str(patterns["pattern"].values[int(code)]), []
    for end in ("share", "share_low", "share_high"):
        shares.append(100 * value_at(patterns[end].isel(pattern=int(code)), head))
    share: Estimate = (shares[0], shares[1], shares[2])
    f1 = patterns.attrs.get("rule", {}).get("f1")
    rule = "" if f1 is None else f" (by a rule with a macro F1 of {float(f1):.2f})"
    sentence = f"Its maps are most often {pattern}: {spell_interval(share, 0)} %{rule}."
    return [Fact(sentence, f"measures/{name}", {"pattern": pattern, **as_numbers(share)})]


def standing_out_facts(measures: Measures, head: Head) -> list[Fact]:
    """The measures by which a head stands out, highest rank first; one sentence if there are none."""
    asked, found = 0, []
    for name, dataset, variable, choice, schema, _ in superlatives(measures):
        part = dataset.sel(choice) if choice else dataset
        value, low, high = (
            value_at(part[key], head) if key in part else float("nan")
            for key in (variable, f"{variable}_low", f"{variable}_high")
        )
        if not known(value):
            continue
        asked += 1
        values = head_values(part[variable])
        if stands_out(value, low, values):
            found.append(
                (standing(value, values), _measure_fact(name, part, variable, schema, choice, (value, low, high), head))
            )
    if not asked:
        return []
    rule = f"in the top {100 * STANDS_OUT:g} % of heads, interval above the median head"
    if not found:
        sentence = f"It stands out by none of {asked} measures ({rule})."
        if asked == 1:
            sentence = f"It does not stand out by the only measure ({rule})."
        return [Fact(sentence, "measures", {"asked": asked, "found": 0})]
    count = f"{len(found)} of {asked} measures" if asked > 1 else "the only measure"
    heading = f"It stands out by {count} ({rule}){f'; the first {MOST}' if len(found) > MOST else ''}:"
    ranked = [fact for _, fact in sorted(found, key=lambda pair: pair[0][0])]
    # Where texts start with [CLS], it is the first token too: the same numbers are said once.
    said: dict[tuple[object, ...], Fact] = {}
    for fact in ranked:
        said.setdefault(tuple(fact.numbers.values()), fact)
    return [Fact(heading, "measures", {"asked": asked, "found": len(found)}), *list(said.values())[:MOST]]


def _measure_fact(
    name: str,
    part: xr.Dataset,
    variable: str,
    schema: Schema,
    choice: dict[str, object],
    estimate: Estimate,
    head: Head,
) -> Fact:
    values = head_values(part[variable])
    title = f"{schema.title} ({', '.join(map(str, choice.values()))})" if choice else schema.title
    chance, by_chance = float("nan"), ""
    if isinstance(schema.baseline, str) and schema.baseline in part:
        chance = value_at(part[schema.baseline], head)
        by_chance = f", {chance:.3f} by chance" if known(chance) else ""
    median = round(float(np.nanmedian(values)), 4) + 0.0  # never -0
    first, last, count = standing(estimate[0], values)
    return Fact(
        f"{title}: {spell_value(estimate)}, {spell_standing(estimate[0], values)} (median {median:.3f}{by_chance}).",
        f"measures/{name}",
        as_numbers(estimate, median=median, chance=chance, rank=first, last_rank=last, heads=count),
        listed=True,
    )


def alike_facts(name: str, distances: xr.Dataset, head: Head) -> list[Fact]:
    """The head whose attention is most like that of this one."""
    if "distance" not in distances or head.stack not in map(str, distances["stack"].values):
        return []
    stack = [str(each) for each in distances["stack"].values].index(head.stack)
    array = distances["distance"].transpose(*HEAD_DIMS, "other_layer", "other_head").values[stack]
    if head.layer >= array.shape[0] or head.head >= array.shape[1]:
        return []
    own = array[head.layer, head.head].copy()
    own[head.layer, head.head] = np.nan
    if not np.isfinite(own).any():
        return []
    place = np.unravel_index(int(np.nanargmin(own)), own.shape)
    other = spell_head(distances, (stack, *place), distances.sizes["stack"] > 1)
    nearest, median = float(own[place]), float(np.nanmedian(own))
    return [
        Fact(
            f"On these texts {other} attends most like it: {nearest:.3f} nats apart (median head: {median:.3f}).",
            f"measures/{name}",
            {"head": other, "distance": nearest, "median": median},
        )
    ]
