"""One head together with others: pairs, paths, circuits, and sets that were ablated at once."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import KINDS, LEVEL, NEITHER, significant
from headcount.core.heads import Head
from headcount.story.earlier import schemas_of
from headcount.story.names import spell_interval
from headcount.story.one_head.fact import (
    Fact,
    as_numbers,
    estimate_at,
    head_values,
    known,
    spell_standing,
    spell_value,
    standing,
    value_at,
)
from headcount.story.pairs import pair_kinds

MOST = 3
"""Pairs, paths and further numbers that are listed at most."""
Spelled = tuple[str, str]
"""A head's names in studies: without its stack where there is only one, and with it."""


def pair_facts(name: str, result: xr.Dataset, spelled: Spelled) -> list[Fact]:
    """With which heads it interacts significantly."""
    first, second = ([str(each) for each in result[key].values] for key in ("first", "second"))
    kinds, interaction, q = pair_kinds(result), result["interaction"].values, result["q"].values
    own = [
        (abs(float(interaction[number])), number, second[number] if first[number] in spelled else first[number])
        for number in range(len(first))
        if spelled[0] in (first[number], second[number]) or spelled[1] in (first[number], second[number])
    ]
    own = [row for row in own if known(row[0])]
    if not own:
        return []
    metric, tested = str(result.attrs["metric"]), f"q < {LEVEL}, {len(own)} pairs with it were run"
    clear = sorted((row for row in own if kinds[row[1]] != NEITHER), reverse=True)
    if not clear:
        return [Fact(f"It interacts significantly with no head in {metric} ({tested}).", f"sweep/{name}")]
    listed = "; ".join(
        f"{other}, {KINDS[int(kinds[number])]} ({float(interaction[number]):+.4f}, q = {float(q[number]):.2g})"
        for _, number, other in clear[:MOST]
    )
    more = f", largest first {MOST}" if len(clear) > MOST else ""
    sentence = f"It interacts significantly in {metric} with {len(clear)} heads ({tested}{more}): {listed}."
    if len(clear) == 1:
        sentence = sentence.replace("1 heads", "1 head")
    numbers = {other: float(interaction[number]) for _, number, other in clear}
    return [Fact(sentence, f"sweep/{name}", numbers)]


def path_facts(name: str, result: xr.Dataset, spelled: Spelled) -> list[Fact]:
    """Its significant paths to later heads, and from earlier ones."""
    facts = []
    for end, other, phrase in (("sender", "receiver", "through later heads"), ("receiver", "sender", "from earlier")):
        names = [str(each) for each in result[end].values]
        inside = next((names.index(each) for each in spelled if each in names), None)
        if inside is None:
            continue
        own = result.isel({end: inside}).transpose(other, "into", ...)
        delta, q = own["delta"].values, own["q"].values
        tested = int(np.isfinite(q).sum())
        if not tested:
            continue
        clear = [tuple(place) for place in np.argwhere(significant(q))]
        clear.sort(key=lambda place: -abs(delta[place]))
        listed = [
            f"{own['into'].values[into]} of {own[other].values[at] if end == 'sender' else spelled[0]}"
            f"{'' if end == 'sender' else f' from {own[other].values[at]}'} "
            f"{spell_interval(_interval(own, (at, into)), signed=True)}"
            for at, into in clear[:MOST]
        ]
        said = f": {'; '.join(listed)}" if listed else ""
        word = "paths" if end == "sender" else "paths to it"
        sentence = (
            f"{len(clear)} of {tested} {word} {phrase}{'' if end == 'sender' else ' heads'} change "
            f"{result.attrs['metric']} significantly (q < {LEVEL}){said}."
        )
        facts.append(Fact(sentence, f"paths/{name}", {"tested": tested, "significant": len(clear)}))
    return facts


def _interval(own: xr.Dataset, place: tuple[int, ...]) -> tuple[float, float, float]:
    value, low, high = (float(own[key].values[place]) for key in ("delta", "low", "high"))
    return value, low, high


def circuit_facts(name: str, result: xr.Dataset, head: Head) -> list[Fact]:
    """Whether it is in the circuit, and what is lost when it alone leaves."""
    inside = value_at(result["in_circuit"], head)
    if not known(inside):
        return []
    size, whole = result.attrs["size"], result.attrs["of"]
    if not inside:
        sentence = f"It is not in the circuit, which has {size} of {whole} heads."
        return [Fact(sentence, f"circuit/{name}", {"in_circuit": 0})]
    lost, q = estimate_at(result, "minimality", head), value_at(result["minimality_q"], head)
    needed = ""
    if known(lost[0]):
        verdict = "significant" if significant(np.array(q)) and lost[0] > 0 else "not shown to be needed by itself"
        needed = f"; when it alone leaves, {spell_value(lost, True)} {result.attrs['metric']} is lost: {verdict}"
        needed += f" (q = {q:.2g})"
    sentence = f"It is one of the {size} of {whole} heads of the circuit{needed}."
    return [Fact(sentence, f"circuit/{name}", as_numbers(lost, q=q) | {"in_circuit": 1})]


def carrier_facts(name: str, result: xr.Dataset, spelled: Spelled) -> list[Fact]:
    """Whether it is among the heads with the highest scores, and the loss without it."""
    names = [str(each) for each in result["top_head"].values]
    number = next((names.index(each) for each in spelled if each in names), None)
    if number is None:
        return []
    said = f"It ranks {number + 1} of the {len(names)} heads that score highest in {result.attrs['measure']}"
    numbers: dict[str, float | str | None] = {"rank": number + 1}
    if "single" in result and np.isfinite(result["single"].values[number]):
        change, q = float(result["single"].values[number]), float(result["single_q"].values[number])
        verdict = "significant" if significant(np.array(q)) else "not significant"
        said += f"; without it alone, the loss changes by {change:+.3f} nats: {verdict} (q = {q:.2g})"
        numbers |= {"change": change, "q": q}
    return [Fact(f"{said}.", f"carriers/{name}", numbers)]


def schema_facts(kind: str, name: str, result: xr.Dataset, head: Head) -> list[Fact]:
    """The numbers of a result that has no sentences of its own about a head, with their ranks, from its schemas."""
    facts: list[Fact] = []
    for variable, schema in schemas_of(f"{kind}/{name}", result).items():
        estimate = estimate_at(result, variable, head) if result[variable].ndim == 3 else (float("nan"),) * 3
        if not schema.shown or schema.names is not None or not known(estimate[0]) or len(facts) == MOST:
            continue
        values = head_values(result[variable])
        sizes, own = (np.abs(values), abs(estimate[0])) if schema.signed else (values, estimate[0])
        q = value_at(result[f"{variable}_q"], head) if f"{variable}_q" in result else float("nan")
        clear = "" if not known(q) else f", {'' if significant(np.array(q)) else 'not '}significant (q = {q:.2g})"
        by_size = " by size" if schema.signed else ""
        means = f" ({schema.direction})" if schema.direction else ""
        facts.append(
            Fact(
                f"{schema.title}{means}: {spell_value(estimate, schema.signed)}, {spell_standing(own, sizes)}{by_size}"
                f"{clear}.",
                f"{kind}/{name}",
                as_numbers(estimate, q=q, rank=standing(own, sizes)[0]),
            )
        )
    return facts
