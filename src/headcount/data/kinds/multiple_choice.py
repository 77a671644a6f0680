"""Multiple choice: which of several texts fits a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from torch import Tensor

from headcount.data.kinds.failed_runs import guesses_largest_class
from headcount.data.kinds.kind import Kind, Labels
from headcount.data.kinds.metrics import ACCURACY, CLASS_LOG_PROBABILITY, CLASS_LOSS, Outputs
from headcount.data.kinds.outputs import class_differences, class_losses, logits_of
from headcount.data.kinds.own_labels import draw_classes
from headcount.data.kinds.tokens import Encoding, tokenize
from headcount.data.kinds.typed import Question, Typed
from headcount.data.kinds.wrong_classes import wrong_classes

if TYPE_CHECKING:
    from headcount.data.encode import Encodings
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn


class MultipleChoice(Kind):
    """Labels are numbers of choices; inside the model each choice is a row of its own."""

    name = "multiple-choice"
    text_columns = ()
    text_columns_hint = "the context, then each choice"
    metrics = (ACCURACY, CLASS_LOSS, CLASS_LOG_PROBABILITY)
    auto_class = "AutoModelForMultipleChoice"
    has_choices = True
    several_rows = True
    own_answers = True
    contrasts = True
    text_titles = ("context", "first choice", "second choice")
    texts_needed = 3
    most_texts = 9
    contexts: ClassVar[int] = 1
    """How many texts precede the choices."""

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        assert labels is not None  # the kind has a label column
        count = len(texts[0]) - self.contexts
        return labels.codes(count, f"{count} choices"), ()

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        """Each encoding has a list for every input: the context with each of the choices, or the choices alone."""
        count = len(examples.texts[0]) - self.contexts
        choices = [choice for text in examples.texts for choice in text[self.contexts :]]
        if self.contexts:
            rows, cut = tokenize(tokenizer, [text[0] for text in examples.texts for _ in range(count)], choices, limit)
        else:
            rows, cut = tokenize(tokenizer, choices, None, limit)
        merged = []
        for number, label in enumerate(examples.labels):
            part = rows[number * count : (number + 1) * count]
            merged.append({key: [row[key] for row in part] for key in part[0]} | {"labels": label})
        return merged, cut

    def read_typed(self, tokenizer: Any, texts: Sequence[str], limit: int) -> Typed:
        context, *choices = texts
        rows, cut = tokenize(tokenizer, [context] * len(choices), choices, limit)
        return Typed({key: [row[key] for row in rows] for key in rows[0]}, (Question(self.name),), cut > 0)

    def answers(self, result: Any, typed: Typed) -> Tensor:
        return logits_of(result)[:, None]

    def option_names(self, options: Sequence[int], tokenizer: Any, classes: Mapping[int, str]) -> list[str]:
        return [f"choice {option + 1}" for option in options]

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        return class_losses(result, labels)

    def own_labels(self, result: Any, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
        """A choice drawn from the predicted distribution."""
        return draw_classes(logits_of(result), draws)

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        return {"logits": (len(rows[0]["input_ids"]),)}

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        return {"logits": logits_of(result).float()}

    def wrong_labels(
        self, wrong: LabelColumn | None, examples: Examples, encodings: Encodings, tokenizer: Any, classes: int
    ) -> list[Any]:
        count = len(examples.texts[0]) - self.contexts
        return wrong_classes(examples, None if wrong is None else wrong.codes(count, f"{count} choices"), count)

    def logit_differences(self, result: Any, labels: Tensor, wrong: Tensor) -> Tensor:
        return class_differences(logits_of(result), labels, wrong)

    def predictions(self, outputs: Outputs) -> Any:
        return outputs["logits"].argmax(-1)

    def has_failed(self, scores: Mapping[str, float], labels: Any) -> bool:
        """Compared with always choosing the number that is right most often."""
        return guesses_largest_class(scores, labels)


class ChoicesAlone(MultipleChoice):
    """Multiple choice without a context: each choice is a single text. Its models are those of multiple choice."""

    contexts = 0
