"""A model's answer as rows: each option with its probability, whole and without some heads, and the difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from headcount.data.kinds.typed import Question

Names = Callable[[list[int]], list[str]]


def answer_rows(
    questions: Sequence[Question], whole: Tensor, without: Tensor | None, top: int, names: Names, probabilities: bool
) -> list[dict[str, Any]]:
    """For each question its options, from log-probabilities (or numbers) [question, option] of both models.

    Of many options, the `top` of each model are listed, in the order of the whole model; `rest` is the probability of
    the others. `changed`: whether the best option is another one without the heads.
    """
    rows = []
    for number, question in enumerate(questions):
        ours = whole[number]
        theirs = None if without is None else without[number]
        chosen = _chosen(ours, theirs, top)
        row: dict[str, Any] = {
            "title": question.title,
            "position": question.position,
            "options": _options(chosen, names(chosen), ours, theirs, probabilities),
            "changed": theirs is not None and len(ours) > 1 and int(ours.argmax()) != int(theirs.argmax()),
        }
        if probabilities:
            row["rest"] = _rest(ours, theirs, chosen)
        rows.append(row)
    return rows


def _chosen(ours: Tensor, theirs: Tensor | None, top: int) -> list[int]:
    if len(ours) <= top:
        return list(range(len(ours)))
    best = ours.topk(top).indices.tolist()
    others = [] if theirs is None else theirs.topk(top).indices.tolist()
    return [*best, *(option for option in others if option not in best)]


def _options(
    chosen: list[int], names: list[str], ours: Tensor, theirs: Tensor | None, probabilities: bool
) -> list[dict[str, Any]]:
    options = []
    for option, name in zip(chosen, names, strict=True):
        values = {"whole": float(ours[option])} | ({} if theirs is None else {"without": float(theirs[option])})
        row: dict[str, Any] = {"option": option, "name": name}
        if probabilities:
            shown = {model: math.exp(value) for model, value in values.items()}
            row |= shown | {"log_probability": values}
        else:
            row |= (shown := values)
        if "without" in shown:
            row["difference"] = shown["without"] - shown["whole"]
        options.append(row)
    return options


def _rest(ours: Tensor, theirs: Tensor | None, chosen: list[int]) -> dict[str, float]:
    both = {"whole": ours} | ({} if theirs is None else {"without": theirs})
    return {model: max(0.0, 1 - float(values[chosen].exp().sum())) for model, values in both.items()}
