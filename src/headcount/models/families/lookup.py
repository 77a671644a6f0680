"""Which record a model is read by: that of its type, the one that was proved on it, or the one that it was cut by."""

from __future__ import annotations

from dataclasses import fields
from typing import Any
from weakref import WeakKeyDictionary

from transformers import PreTrainedModel

from headcount.models.families.plan import Family, StackPlan
from headcount.models.families.registry import FAMILIES, family_of

_proved: WeakKeyDictionary[PreTrainedModel, Family] = WeakKeyDictionary()


def remember_proved(model: PreTrainedModel, family: Family) -> None:
    """Read the model, whose type has no record, by the one that was proved on it."""
    _proved[model] = family


def forget_proved(model: PreTrainedModel) -> None:
    """Take back what was remembered of the model."""
    _proved.pop(model, None)


def is_recorded(config: Any) -> bool:
    """Whether the model's type has a record, or its config has the one that heads were cut by."""
    return config.model_type in FAMILIES or bool(getattr(config, "headcount", None))


def family_of_model(model: PreTrainedModel) -> Family:
    """The record that the model is read by; `UnknownFamily` where there is none."""
    config = model.config
    if model in _proved and config.model_type not in FAMILIES:
        return _proved[model]
    if config.model_type in FAMILIES or not is_recorded(config):
        return family_of(config.model_type)
    plans = []
    for stack in config.headcount["stacks"]:
        parts: dict[str, Any] = {
            field.name: stack[field.name] for field in fields(StackPlan) if field.name != "feed_forward"
        }
        parts = {name: tuple(part) if isinstance(part, list) else part for name, part in parts.items()}
        plans.append(StackPlan(**parts))
    return Family((config.model_type,), tuple(plans))
