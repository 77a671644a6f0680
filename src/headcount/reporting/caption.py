"""What a figure is about, in one line below it: model, task, metric and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount.reporting.text_maps import TextMaps
from headcount.reporting.view import View
from headcount.story.names import short_name

LONGEST = 300
"""Characters of a text at most."""


def result_caption(view: View, name: str) -> str:
    """The model, the task, its metric and the number of examples of a result."""
    result = view.results.get(name)
    if result is None:
        return study_model(view)
    attributes = result.attrs
    model = model_of(attributes)
    task, metric = attributes.get("task"), attributes.get("metric")
    count = attributes.get("examples") or result.sizes.get("example")
    noun = f"{'example' if task else 'text'}{'' if count == 1 else 's'}"
    of_task = f"{task}, {metric}" if task and metric else str(task or "")
    return " · ".join(filter(None, (model, of_task, f"{count} {noun}" if count else "")))


def model_of(attributes: Mapping[Any, Any]) -> str:
    """The model of a result; of a change, both."""
    model, other = (short_name(str(attributes.get(key) or "")) for key in ("model", "other_model"))
    return f"{other} minus {model}" if other else model


def text_caption(maps: TextMaps, with_model: bool = True) -> str:
    """The model and the text of maps."""
    text = maps.text if len(maps.text) <= LONGEST else f"{maps.text[:LONGEST]}…"
    pooled = f"each cell is {maps.pooled} x {maps.pooled} tokens" if maps.pooled > 1 else ""
    return " · ".join(filter(None, (maps.model if with_model else "", text, pooled)))


def colouring_caption(view: View, colouring: dict[str, Any]) -> str:
    """What the number of a colouring was measured on."""
    return result_caption(view, result_of(colouring, view))


def result_of(colouring: dict[str, Any], view: View) -> str:
    """The name of the result that a colouring shows: its id may go on with the label of a further dimension."""
    name = str(colouring["id"]).rsplit(":", 1)[0]
    while name and name not in view.results:
        name = name.rpartition("/")[0]
    return name


def study_model(view: View) -> str:
    """The model that was scored or, without a score, the last one."""
    models = [
        (result.attrs.get("by") in ("head", "layer"), str(result.attrs["model"]))
        for result in view.results.values()
        if result.attrs.get("model")
    ]
    scored = [model for is_scored, model in models if is_scored]
    return short_name(scored[0] if scored else models[-1][1]) if models else ""
