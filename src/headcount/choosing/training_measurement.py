"""What can be measured at a step of a training? The contract of importance and of gates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from headcount.ablation.job import Job
from headcount.choosing.training_rows import Row
from headcount.core.results import Labelled


@dataclass(frozen=True)
class Scene:
    """What a measurement reads: examples, and no more of their tokens at once than a batch of the training has."""

    job: Job
    padding: int
    tokens: int


class Measurement(ABC):
    """Measures all heads of the model as it is now; a `Row` has its numbers."""

    what: ClassVar[str]
    """Its name in messages."""
    order: ClassVar[str]
    """The array of a row by which the heads are ordered."""

    @abstractmethod
    def settings(self, scene: Scene) -> dict[str, Any]:
        """The options that its numbers depend on; a journal with others is not resumed."""

    @abstractmethod
    def row(self, scene: Scene, step: int) -> Row:
        """The numbers of a step. The model is left as it is."""

    @abstractmethod
    def totals(self, row: Row) -> dict[str, float]:
        """Numbers of the whole model, for trackers."""

    @abstractmethod
    def by_layer(self, row: Row) -> tuple[str, np.ndarray]:
        """A number for each layer [stack, layer], with its name, for trackers."""

    @abstractmethod
    def by_head(self, row: Row) -> tuple[str, np.ndarray]:
        """A number for each head [stack, layer, head], with its name, for trackers."""

    @abstractmethod
    def arrays(self, rows: Sequence[Row]) -> Labelled:
        """The arrays of a result along `checkpoint`, with their schemas."""
