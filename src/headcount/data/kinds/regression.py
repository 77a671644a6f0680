"""Regression: one number for a text or a pair of texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from headcount.data.kinds.kind import Labels
from headcount.data.kinds.metrics import PEARSON, SPEARMAN, SQUARED_ERROR, Outputs
from headcount.data.kinds.outputs import logits_of, upcast
from headcount.data.kinds.typed import Typed
from headcount.data.kinds.whole_text import WholeText
from headcount.errors import ModelUnavailable

if TYPE_CHECKING:
    from headcount.data.labels import LabelColumn


class Regression(WholeText):
    """Labels are numbers; the model has a single output."""

    name = "regression"
    metrics = (PEARSON, SPEARMAN, SQUARED_ERROR)
    problem_type = "regression"
    own_answers = True

    has_probabilities = False

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        assert labels is not None  # the kind has a label column
        return labels.numbers(), ()

    def suits(self, config: Any) -> bool:
        return bool(config.num_labels == 1)

    def answers(self, result: Any, typed: Typed) -> Tensor:
        return logits_of(result)[:, None]

    def option_names(self, options: Sequence[int], tokenizer: Any, classes: Mapping[int, str]) -> list[str]:
        return ["score"] * len(options)

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        scores = upcast(logits_of(result)).squeeze(-1)
        errors: Tensor = scores - labels.to(scores.dtype)
        return errors**2

    def own_labels(self, result: Any, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
        """Half a point below the prediction: the slope of the squared error is then that of the prediction itself."""
        return upcast(logits_of(result).detach()).squeeze(-1) - 0.5

    def distances(self, result: Any, teacher: Any, labels: Tensor, temperature: float) -> Tensor:
        ours, theirs = (upcast(logits_of(each)).squeeze(-1) for each in (result, teacher))
        return (ours - theirs) ** 2

    def predictions(self, outputs: Outputs) -> Any:
        return outputs["logits"][..., 0]

    def check_model(self, model: Any, stacks: Collection[str]) -> None:
        if model.config.num_labels != 1:
            name = type(model).__name__
            raise ModelUnavailable(f"{name} has {model.config.num_labels} outputs; a regression needs a model with one")
        super().check_model(model, stacks)

    def config_changes(self, names: Sequence[str]) -> dict[str, Any]:
        return {"num_labels": 1, "problem_type": self.problem_type}

    def has_failed(self, scores: Mapping[str, float], labels: Any) -> bool:
        """If there is no positive correlation."""
        return not next(iter(scores.values())) > 0
