"""The Trainer of a model that does not compute the loss of its task itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from headcount.data.kinds.kind import Kind
from headcount.training.trainer import RunTrainer


class KindTrainer(RunTrainer):
    """Trains on the mean of the losses that the kind of task gives."""

    def __init__(self, *args: Any, kind: Kind, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        return self.kind.losses(model(**self.kind.inputs(self.model, inputs)), inputs["labels"]).mean()


def trainer_for(kind: Kind) -> Callable[..., RunTrainer]:
    """What makes the Trainer for a kind of task."""
    return RunTrainer if kind.model_computes_loss else partial(KindTrainer, kind=kind)
