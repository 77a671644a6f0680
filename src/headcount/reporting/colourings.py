"""What the heads of a study can be coloured by: a value for each head, with intervals and tests."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.core.schema import Schema, read_schema
from headcount.core.sweep_schemas import inputs_of
from headcount.reporting.palette import pattern_colours
from headcount.reporting.patterns import find_pattern_result
from headcount.reporting.view import View, number
from headcount.story.earlier import schemas_of
from headcount.story.patches import falls_with_it, is_patched
from headcount.story.probes import NONE
from headcount.story.role_names import BROAD, NO_ROLE, colours_of
from headcount.story.roles import find_roles, role_tests
from headcount.story.sweeps import REPLACED

MOST_MAIN = 10
"""Named choices at most."""
NEEDED_ABOVE = re.compile(r"above \S+: .*\bneed")
Colouring = dict[str, Any]
"""id, title, group, unit, says, kind (diverging, sequential, category), values by head, and low, high, p, q, if any.
Of categories: names and, if there are any, the number of the category that stands for none of them and `colours`,
the numbers of their colours. `beside`: the id of the colouring to look at beside it. `also`: of roles, all that
each head has, as [name, strength, low, high]. `unknown`: why a head has no value, if that is known. `centre`: the
value between two meanings, if it is not a change. `patched`: of a patch, the input that is run and the one that
gives."""


def find_colourings(view: View) -> list[Colouring]:
    """The colourings of a study, those that people look for first in front."""
    colourings = [*_sweeps(view), *_importance(view), *_patterns(view), *_roles(view), *_followed(view)]
    for kind in ("circuit", "patching", "function_vectors", "cue_heads", "probe", "measures", "compare"):
        for name, dataset in view.of(kind).items():
            colourings += _variables(view, f"{kind}/{name}", dataset)
    return _with_main(view, colourings) or _heads_alone(view)


def _with_main(view: View, colourings: list[Colouring]) -> list[Colouring]:
    """The colourings, each with `main`: whether it is one of the few named choices.

    The first of each kind, such as of several sweeps; of what roles are about, only what some head has as a role.
    """
    own = view.named("measures")
    idle = {
        f"measures/{test.measure}:{test.variable}"
        for test in role_tests(own)
        if test.name != BROAD and not (test.has.values == 1).any()
    }
    known: set[str] = set()
    for colouring in colourings:
        kind = re.sub("@[^:/]*", "", colouring["id"])
        kind = "effect" if colouring.get("effect") else kind
        first = bool(colouring.get("main")) and colouring["id"] not in idle and kind not in known
        known |= {kind} if first else set()
        colouring["main"] = first and len(known) <= MOST_MAIN
    return colourings


def _heads_alone(view: View) -> list[Colouring]:
    """A study of nothing but maps has no number to colour by, but heads to click on."""
    if not view.layout.count:
        return []
    return [
        {
            "id": "present",
            "main": True,
            "title": "The heads of the model",
            "group": "",
            "unit": "",
            "kind": "category",
            "says": "no number of this study is about single heads; click one to see where it looks",
            "values": [0] * view.layout.count,
            "names": ["a head"],
        }
    ]


def _sweeps(view: View) -> list[Colouring]:
    ranked = []
    for name, dataset in view.of("sweep").items():
        attributes = dataset.attrs
        if attributes["by"] == "position" or attributes["how"] == "function-vector":
            continue  # a map of its own, and a part of another result
        for colouring in _variables(view, f"sweep/{name}", dataset):
            if is_patched(dataset):
                shared = colouring["id"].endswith(":share")
                ranked.append((1 if shared else 3, colouring | _patched(view, dataset, shared, name)))
                continue
            if not colouring["id"].endswith("delta"):  # about the run of the head, not about its effect
                ranked.append((4, colouring | {"how": attributes["how"]}))
                continue
            replaced = REPLACED.get(attributes["how"], attributes["how"])
            alone = attributes["by"] == "all-but-one"
            prefix = "loss_" if colouring["id"].endswith(":loss_delta") else ""
            colouring["says"] += f". Removing {'another head' if alone else 'it'} means that {replaced}"
            colouring |= {key: view.by_head(dataset[f"{prefix}{key}"]) for key in ("low", "high", "p", "q")}
            colouring |= {
                "higher": not prefix and bool(attributes.get("higher_is_better", True)),
                "how": attributes["how"],
            }
            if "selected" in dataset:
                colouring["unknown"] = "not run"
            if not prefix:
                colouring |= {"baseline": number(float(dataset["baseline"]), 6), "effect": True}
            ranked.append((2 if alone or prefix else 0, colouring))
    colourings = [colouring for _, colouring in sorted(ranked, key=lambda item: item[0])]
    titles = Counter(colouring["title"] for colouring in colourings)
    for colouring in colourings:  # sweeps with different replacements: the title names them
        colouring["title"] += f" ({colouring['how']})" if titles[colouring["title"]] > 1 else ""
    shares = [colouring for colouring in colourings if "patched" in colouring and "centre" in colouring]
    for colouring, other in pairwise(shares):  # such as the other direction
        colouring["beside"] = other["id"]
    return colourings


def _patched(view: View, dataset: xr.Dataset, share: bool, name: str) -> Colouring:
    """What a colouring of a patch has besides: which input is run and which gives, and tests.

    `higher` is true where the heads that carry the difference have low values: orange, as those that are needed.
    """
    attributes = dataset.attrs
    tests = {key: view.by_head(dataset[key]) for key in (("p", "q") if share else ("low", "high", "p", "q"))}
    return tests | {
        "patched": dict(zip(("ran", "given"), inputs_of(attributes["direction"]), strict=True)),
        "higher": attributes["direction"] == "noise" if share else falls_with_it(dataset),
        "how": name.split("@")[0].removeprefix(f"{attributes['by']}-"),
        **({"unknown": "not run"} if "selected" in dataset else {}),
    }


def _importance(view: View) -> list[Colouring]:
    """Importance, then learned gates and roles by gates."""
    return [
        colouring
        for kind in ("importance", "gates", "roles")
        for name, dataset in view.of("pruning").items()
        if name.split("@")[0] == kind and not view.is_passing_checkpoint(name)
        for colouring in _variables(view, f"pruning/{name}", dataset)
    ]


def _patterns(view: View) -> list[Colouring]:
    name, dataset = find_pattern_result(view)
    if dataset is None or not np.isfinite(dataset["mostly"].values).any():
        return []
    return [
        {
            "id": "patterns",
            "main": True,
            "title": f"The pattern of its maps{_suffix(name)}",
            "group": "What its maps look like",
            "unit": "",
            "kind": "category",
            "says": "what its maps look like in most texts; a click on a head shows some",
            "values": [None if pattern is None else int(pattern) for pattern in view.by_head(dataset["mostly"])],
            "names": [str(name) for name in dataset["pattern"].values],
            "colours": pattern_colours(dataset.sizes["pattern"]),
        }
    ]


def _roles(view: View) -> list[Colouring]:
    roles = find_roles(view.named("measures"), view.by_head)
    if all(each is None for each in roles):
        return []
    strongest = [None if each is None else each[0].name if each else NO_ROLE for each in roles]
    counts = Counter(name for name in strongest if name not in (None, NO_ROLE))
    names = sorted(counts, key=lambda name: (colours_of([name]), name)) + [NO_ROLE] * (NO_ROLE in strongest)
    titles = {test.name: test.schema.does for test in role_tests(view.named("measures")) if test.schema.does}
    return [
        {
            "id": "roles",
            "main": True,
            "title": "What it does",
            "group": "What it looks at",
            "unit": "",
            "kind": "category",
            "says": "what it does most beyond chance; a head can have several roles",
            "values": [None if name is None else names.index(name) for name in strongest],
            "names": names,
            # A role has the same colour on every page; no role stays in the background.
            "colours": colours_of(names),
            **({"none": names.index(NO_ROLE)} if NO_ROLE in names else {}),
            # What a head with the role does, as a title.
            "does": [titles.get(name, name) for name in names],
            "also": [
                [[role.name, *(number(part) for part in (role.strength, role.low, role.high))] for role in each or ()]
                for each in roles
            ],
        }
    ]


def _followed(view: View) -> list[Colouring]:
    """The relation that each head follows best, of those that are shown to follow one."""
    colourings: list[Colouring] = []
    for name, dataset in view.of("probe").items():
        if "relation_of_head" not in dataset or "relation_gain_low" not in dataset:
            continue
        schema = read_schema(dataset["relation_gain"]) or Schema("")
        relations = [str(relation) for relation in dataset["relation"].values]
        gains, lows, numbers = (
            view.by_head(dataset[variable]) for variable in ("relation_gain", "relation_gain_low", "relation_of_head")
        )
        followed = [
            None if gain is None else relations[int(number)] if number is not None and (low or 0) > 0 else NONE
            for gain, low, number in zip(gains, lows, numbers, strict=True)
        ]
        counts = Counter(relation for relation in followed if relation not in (None, NONE))
        # The commonest relations get the colours that are told apart most easily.
        names = [*(relation for relation, _ in counts.most_common()), NONE]
        colourings.append(
            {
                "id": f"probe/{name}:relation_of_head",
                "title": f"The relation it follows best ({name.replace('@', ', ')})",
                "group": schema.category,
                "unit": "",
                "kind": "category",
                "says": f"a relation only where the gain has a 95 % interval above 0 ({schema.title.lower()})",
                "values": [None if relation is None else names.index(relation) for relation in followed],
                "names": names,
                "none": len(names) - 1,
                "beside": f"probe/{name}:relation_gain",
            }
        )
    return [colouring for colouring in colourings if any(value is not None for value in colouring["values"])]


def _variables(view: View, name: str, dataset: xr.Dataset) -> list[Colouring]:
    """The variables of a result that its schemas show; one colouring for each label of a further dimension."""
    colourings = []
    for variable, schema in schemas_of(name, dataset).items():
        further = [str(dim) for dim in dataset[variable].dims[len(HEAD_DIMS) :]]
        if not schema.shown or len(further) > 1:
            continue
        if not further:
            colourings.append(_colouring(view, name, dataset, variable, schema))
            continue
        for index, label in enumerate(dataset[further[0]].values):
            part = dataset.isel({further[0]: index})  # not by its label, which may be any text
            titled = replace(schema, title=f"{str(label).replace('_', ' ').capitalize()}: {schema.title}")
            colourings.append(_colouring(view, f"{name}/{label}", part, variable, titled))
    return [colouring for colouring in colourings if any(value is not None for value in colouring["values"])]


def _suffix(name: str) -> str:
    """The name that tells results of the same kind apart, in brackets."""
    return f" ({name.split('@', 1)[1].split('/')[0]})" if "@" in name else ""


def _colouring(view: View, name: str, dataset: xr.Dataset, variable: str, schema: Schema) -> Colouring:
    colouring: Colouring = {
        "id": f"{name}:{variable}",
        "title": schema.title + _suffix(name),
        "group": schema.category,
        "unit": schema.unit,
        "says": schema.direction,
        "main": schema.main,
        "kind": "category" if schema.names is not None else "diverging" if schema.signed else "sequential",
        "values": view.by_head(dataset[variable]),
        **({} if schema.centre is None else {"centre": schema.centre}),
        # Orange is what is needed, and so it is where high values mean that.
        **({"higher": False} if schema.signed and NEEDED_ABOVE.match(schema.direction) else {}),
    }
    if f"{variable}_low" in dataset and f"{variable}_high" in dataset:
        colouring |= {end: view.by_head(dataset[f"{variable}_{end}"]) for end in ("low", "high")}
    if f"{variable}_q" in dataset:
        colouring |= {end: view.by_head(dataset[f"{variable}_{end}"]) for end in ("p", "q")}
    if schema.names is not None:
        used = sorted({int(value) for value in colouring["values"] if value is not None})
        kinds = list(range(len(schema.names))) or used
        colouring["names"] = list(schema.names) or [f"group {kind}" for kind in used]
        colouring["values"] = [None if value is None else kinds.index(int(value)) for value in colouring["values"]]
    return colouring


def effect_of(colourings: list[Colouring]) -> Colouring | None:
    """The effect of ablation that a page starts with."""
    return next((colouring for colouring in colourings if colouring.get("effect")), None)
