"""Language modelling: what masked, causal and translation models share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headcount.data.kinds.kind import Kind, Labels
from headcount.data.kinds.metrics import PERPLEXITY, TOKEN_LOSS, Metric, Outputs
from headcount.data.kinds.outputs import (
    class_differences,
    logits_of,
    mean_token_distances,
    mean_token_losses,
    token_entropies,
    token_losses,
)
from headcount.data.kinds.tokens import IGNORED, Encoding, tokenize
from headcount.data.kinds.typed import Typed, word_names

if TYPE_CHECKING:
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn


Project = Callable[[Tensor], Tensor]
"""From the states of some tokens [token, size] to their logits [token, word]."""
BLOCK, CPU_BLOCK = 8192, 512
"""Tokens whose logits are computed at a time."""


class Language(Kind):
    """The text is its own label; the summed loss and the number of labelled tokens of each example are kept."""

    text_columns: ClassVar[tuple[tuple[str, ...], ...]] = (("text",), ("sentence",))
    label_columns = ()
    metrics: ClassVar[tuple[Metric, ...]] = (TOKEN_LOSS, PERPLEXITY)
    over_vocabulary = True
    own_answers = True
    masked: ClassVar[bool] = False
    """Whether the tokens to predict are masked in the text."""

    def aligned(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and labels, shifted so that they are of the same tokens."""
        return logits, labels

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        return None, ()

    def stand_ins(self, texts: list[tuple[Any, ...]]) -> Any:
        """The labels themselves: they are in the texts."""
        return self.read_labels(None, texts)[0]

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        rows, cut = tokenize(tokenizer, [text[0] for text in examples.texts], None, limit)
        for row in rows:
            row["labels"] = list(row["input_ids"])
        return rows, cut

    def answers(self, result: Any, typed: Typed) -> Tensor:
        positions = [question.position for question in typed.questions]
        return logits_of(result)[:, positions]

    def option_names(self, options: Sequence[int], tokenizer: Any, classes: Mapping[int, str]) -> list[str]:
        return word_names(options, tokenizer)

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        return mean_token_losses(*self.aligned(logits_of(result), labels))

    def own_labels(self, result: Any, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
        """The text itself: nobody had to label it."""
        return labels

    def distances(self, result: Any, teacher: Any, labels: Tensor, temperature: float) -> Tensor:
        ours, due = self.aligned(logits_of(result), labels)
        theirs, _ = self.aligned(logits_of(teacher), labels)
        return mean_token_distances(ours, theirs, due, temperature)

    def log_probabilities(self, result: Any, labels: Tensor) -> Tensor:
        """Of all labelled tokens of a text together, while its loss is their mean."""
        _, due = self.aligned(logits_of(result), labels)
        return -self.losses(result, labels) * (due != IGNORED).sum(1)

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        return {"loss": (), "tokens": ()}

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        logits, labels = self.aligned(logits_of(result), labels)
        losses = token_losses(logits.float(), labels)
        return {"loss": losses.double().sum(1), "tokens": (labels != IGNORED).sum(1).double()}

    def reduce_late(self, states: Tensor, project: Project, labels: Tensor) -> dict[str, Tensor]:
        """As `reduce`, from states [row, token, size], which `project` turns into logits block by block."""
        states, labels = self.aligned(states, labels)
        scored = labels != IGNORED
        chosen, due = states[scored], labels[scored]
        size = BLOCK if chosen.device.type == "cuda" else CPU_BLOCK
        blocks = [
            self.of_tokens(project(part), tokens)
            for part, tokens in zip(chosen.split(size), due.split(size), strict=True)
        ]
        rows = scored.nonzero()[:, 0]
        sums = {}
        for name in blocks[0] if blocks else ():
            values = torch.cat([block[name] for block in blocks]).double()
            sums[name] = torch.zeros(len(labels), dtype=torch.float64, device=values.device).index_add_(0, rows, values)
        return {**sums, "tokens": scored.sum(1).double()}

    def of_tokens(self, logits: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """What is added up over the labelled tokens of a text, from logits [token, word] and labels [token]."""
        return {"loss": token_entropies(logits, labels)}

    def logit_differences(self, result: Any, labels: Tensor, wrong: Tensor) -> Tensor:
        return self.differences_late(logits_of(result), lambda logits: logits, labels, wrong)

    def differences_late(self, states: Tensor, project: Project, labels: Tensor, wrong: Tensor) -> Tensor:
        """As `logit_differences`, from states that `project` turns into logits: one token of each row has both."""
        _, other = self.aligned(states, wrong)
        states, right = self.aligned(states, labels)
        compared = other != IGNORED
        return class_differences(project(states[compared]), right[compared], other[compared])

    def predictions(self, outputs: Outputs) -> Any:
        """Generated texts, or the mean loss of each example."""
        return outputs["predictions"] if "predictions" in outputs else outputs["loss"] / outputs["tokens"]
