"""Which annotations one head follows: of which relations it is the best head, and which it follows best itself."""

from __future__ import annotations

import xarray as xr

from headcount.core.claims import SYNTACTIC
from headcount.core.heads import Head
from headcount.core.probe_names import ALL
from headcount.core.schema import read_schema
from headcount.story.names import interval_of, spell_direction, spell_interval
from headcount.story.one_head.fact import Fact, as_numbers, estimate_at, known, spell_value, value_at
from headcount.story.probes import has_relations

MOST = 4
"""Relations that are listed at most."""


def probe_facts(name: str, probed: xr.Dataset, head: Head, spelled: tuple[str, str]) -> list[Fact]:
    """What a probe says about a head: selected on one half of the texts, evaluated on the other."""
    return [*_followed(name, probed, head), *_best(name, probed, spelled)]


def _followed(name: str, probed: xr.Dataset, head: Head) -> list[Fact]:
    """The relation that it follows best."""
    if "relation_of_head" not in probed or "relation_gain_low" not in probed:
        return []
    gain, code = estimate_at(probed, "relation_gain", head), value_at(probed["relation_of_head"], head)
    if not known(code) or not known(gain[0]):
        return []
    relation, kind = str(probed["relation"].values[int(code)]), name.partition("@")[0]
    schema = read_schema(probed["gain"]) if "gain" in probed else None
    above = schema.title.partition(" above ")[2] if schema is not None else ""
    beyond = f"above {above}" if above else "above the baseline"
    arrow = ""
    if "direction_of_head" in probed and known(value_at(probed["direction_of_head"], head)):
        direction = str(probed["direction"].values[int(value_at(probed["direction_of_head"], head))])
        arrow = f" {spell_direction(probed, direction)}"
    numbers = {"relation": relation, **as_numbers(gain)}
    if not gain[1] > 0:
        said = f"It is not shown to follow any relation ({kind}): of {relation}{arrow}, which it follows best, "
        return [Fact(f"{said}{spell_value(gain, True)} {beyond} on held-out texts.", f"probe/{name}", numbers)]
    syntactic = "; by Voita et al.'s definition, a syntactic head" if gain[1] >= SYNTACTIC and _is_syntax(kind) else ""
    return [
        Fact(
            f"Of all relations ({kind}) it follows {relation}{arrow} best: {spell_value(gain, True)} {beyond} on "
            f"held-out texts (95 % interval of this head by itself){syntactic}.",
            f"probe/{name}",
            numbers,
        )
    ]


def _is_syntax(kind: str) -> bool:
    return kind == "dependencies"


def _best(name: str, probed: xr.Dataset, spelled: tuple[str, str]) -> list[Fact]:
    """The relations of which it is the best head."""
    if not has_relations(probed):
        return []
    rows = []
    for number, relation in enumerate(map(str, probed["relation"].values)):
        row = probed.isel(relation=number)
        if str(row["best_head"].item()) in spelled and known(float(row["best_accuracy"])):
            rows.append((float(row["gain"]), relation, row))
    if not rows:
        return []
    rows.sort(key=lambda each: -each[0])
    listed = "; ".join(
        f"{'all relations together' if relation == ALL else relation}: {float(row['best_accuracy']):.3f}, "
        f"{spell_interval(interval_of(row, 'gain'), signed=True)} against the baseline"
        f"{'' if float(row['gain_low']) > 0 else ', not shown to beat it'}"
        for _, relation, row in rows[:MOST]
    )
    many = f"{len(rows)} relation{'s' if len(rows) > 1 else ''}"
    more = f"; the first {MOST}" if len(rows) > MOST else ""
    sentence = f"It is the best head of {many} (selected on other texts than evaluated{more}): {listed}."
    return [Fact(sentence, f"probe/{name}", {relation: gain for gain, relation, _ in rows})]
