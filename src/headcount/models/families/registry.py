"""All families by model type."""

from __future__ import annotations

from typing import Any

from headcount.errors import UnknownFamily
from headcount.models.families.albert import ALBERT
from headcount.models.families.plan import Family
from headcount.models.families.regular import REGULAR
from headcount.models.families.without_interface import DEBERTA, MPNET

FAMILIES: dict[str, Family] = {
    model_type: family for family in (*REGULAR, ALBERT, MPNET, DEBERTA) for model_type in family.model_types
}


def family_of(model_type: str) -> Family:
    """The family of a config's `model_type`; `UnknownFamily` where there is no record of it."""
    if model_type not in FAMILIES:
        raise UnknownFamily(
            f"models of type {model_type!r} are not understood: no family says where their attention is; "
            f"known are {', '.join(sorted(FAMILIES))}; docs/architecture.md shows how to add one"
        )
    return FAMILIES[model_type]


def recorded_family(config: Any) -> Family:
    """The record of the config's family; an empty one where there is none."""
    return FAMILIES.get(config.model_type) or Family((config.model_type,), ())
