"""Classification: one class for a text or a pair of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from headcount.data.kinds.failed_runs import guesses_largest_class
from headcount.data.kinds.kind import Labels
from headcount.data.kinds.metrics import ACCURACY, CLASS_LOG_PROBABILITY, CLASS_LOSS, F1, MATTHEWS, Outputs
from headcount.data.kinds.outputs import class_differences, class_losses, logits_of
from headcount.data.kinds.own_labels import draw_classes
from headcount.data.kinds.typed import Typed
from headcount.data.kinds.whole_text import WholeText
from headcount.data.kinds.wrong_classes import wrong_classes

if TYPE_CHECKING:
    from headcount.data.encode import Encodings
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn


class Classification(WholeText):
    """Labels are class numbers of the model."""

    name = "classification"
    aliases = ("text-classification", "sequence-classification")
    metrics = (ACCURACY, F1, MATTHEWS, CLASS_LOSS, CLASS_LOG_PROBABILITY)
    problem_type = "single_label_classification"
    named_classes = True
    own_answers = True
    contrasts = True

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        assert labels is not None  # the kind has a label column
        return labels.classes()

    def suits(self, config: Any) -> bool:
        # Several labels at once are no distribution over classes.
        return config.num_labels > 1 and config.problem_type in (None, self.problem_type)

    def answers(self, result: Any, typed: Typed) -> Tensor:
        return logits_of(result)[:, None]

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        return class_losses(result, labels)

    def own_labels(self, result: Any, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
        """A class drawn from the predicted distribution."""
        return draw_classes(logits_of(result), draws)

    def wrong_labels(
        self, wrong: LabelColumn | None, examples: Examples, encodings: Encodings, tokenizer: Any, classes: int
    ) -> list[Any]:
        return wrong_classes(examples, None if wrong is None else wrong.classes()[0], classes)

    def logit_differences(self, result: Any, labels: Tensor, wrong: Tensor) -> Tensor:
        return class_differences(logits_of(result), labels, wrong)

    def predictions(self, outputs: Outputs) -> Any:
        return outputs["logits"].argmax(-1)

    def has_failed(self, scores: Mapping[str, float], labels: Any) -> bool:
        """Compared with always predicting the largest class; a metric that corrects for chance must be above 0."""
        return guesses_largest_class(scores, labels)
