"""Completion: a causal language model reads a prompt, and only the tokens of what follows it are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from headcount.data.kinds.causal_lm import CausalLM
from headcount.data.kinds.metrics import (
    COMPLETION_ACCURACY,
    PERPLEXITY,
    TEXT_LOG_PROBABILITY,
    TOKEN_ACCURACY,
    TOKEN_LOSS,
)
from headcount.data.kinds.outputs import logits_of, upcast
from headcount.data.kinds.tokens import IGNORED, Encoding
from headcount.errors import DataProblem, UnsuitableModel, short

if TYPE_CHECKING:
    from headcount.data.encode import Encodings
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn


class Completion(CausalLM):
    """Prompt and completion are encoded as one text; a token with a character of the completion belongs to it.

    A token that straddles the boundary (the space at the end of a prompt with the first word of the completion) is
    therefore scored. Of a text that is too long the beginning is left out, since its end is what is scored; special
    tokens at the beginning stay.
    """

    name = "completion"
    aliases = ()
    text_columns = (("prompt", "completion"),)
    metrics = (TOKEN_LOSS, PERPLEXITY, COMPLETION_ACCURACY, TOKEN_ACCURACY, TEXT_LOG_PROBABILITY)
    own_answers = False
    contrasts = True
    all_texts_needed = True
    least_tokens = 1
    without_head = (
        "a completion is predicted from the tokens before it alone, by a causal language model; a masked one reads "
        "synthetic texts with task=masked-lm"
    )

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        if not getattr(tokenizer, "is_fast", False):
            raise UnsuitableModel(
                f"got {type(tokenizer).__name__}; expected a fast tokenizer, which tells where the completion begins"
            )
        texts = [prompt + completion for prompt, completion in examples.texts]
        encoded = tokenizer(
            texts, return_offsets_mapping=True, return_special_tokens_mask=True, truncation=False, verbose=False
        )
        rows, cut = [], 0
        for number, (prompt, _) in enumerate(examples.texts):
            row = {key: list(encoded[key][number]) for key in encoded}
            ends = [end for _, end in row.pop("offset_mapping")]
            special = row.pop("special_tokens_mask")
            ids = row["input_ids"]
            labels = [token if end > len(prompt) else IGNORED for token, end in zip(ids, ends, strict=True)]
            row["labels"] = labels
            if len(ids) > limit:
                row, cut = _without_beginning(row, special, limit), cut + 1
            scored = [label for label in row["labels"] if label != IGNORED]
            if len(scored) < sum(label != IGNORED for label in labels):
                raise DataProblem(
                    f"{examples.where(number)}: the completion alone is longer than {limit} tokens; shorten it"
                )
            rows.append(row)
        return rows, cut

    def nothing_left(self, row: Encoding) -> bool:
        return all(label == IGNORED for label in row["labels"][1:])

    def wrong_labels(
        self, wrong: LabelColumn | None, examples: Examples, encodings: Encodings, tokenizer: Any, classes: int
    ) -> list[Any]:
        """The first token in which the wrong completion differs from the right one, at its position."""
        if wrong is None:
            raise DataProblem("there is no column of wrong answers; name one with wrong=, or take another metric")
        texts = [(prompt, str(other)) for (prompt, _), other in zip(examples.texts, wrong.column, strict=True)]
        labels, rows = [], encodings.rows
        for number, row in enumerate(self.encode(replace(examples, texts=texts), tokenizer, encodings.limit, 0)[0]):
            right, other = rows[number]["input_ids"], row["input_ids"]
            at = next((at for at, (a, b) in enumerate(zip(right, other, strict=False)) if a != b), None)
            if at is None or rows[number]["labels"][at] == IGNORED:
                both = f"{short(examples.texts[number][1])} and {short(texts[number][1])}"
                raise DataProblem(
                    f"{examples.where(number)}: got the right and the wrong answer {both}; expected two that differ "
                    "in a token"
                )
            labels.append([other[at] if place == at else IGNORED for place in range(len(right))])
        return labels

    def prompt_end(self, row: Encoding) -> int:
        return self.answer_positions(row)[0]

    def answer_positions(self, row: Encoding) -> list[int]:
        return [at - 1 for at, label in enumerate(row["labels"]) if label != IGNORED and at]

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        logits, labels = self.aligned(logits_of(result), labels)
        scored = labels != IGNORED
        losses = _scored_losses(logits[scored], labels[scored])
        return _by_row(losses, scored).sum(1) / scored.sum(1).clamp(min=1)

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        return {"loss": (), "tokens": (), "correct_tokens": ()}

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        """The summed loss, the number of scored tokens, and how many of them are the most probable ones."""
        logits, labels = self.aligned(logits_of(result), labels)
        scored = labels != IGNORED
        # The logits of a long prompt are not looked at, and need no copy.
        chosen, due = logits[scored], labels[scored]
        correct = (chosen.argmax(-1) == due).double()
        return {
            "loss": _by_row(_scored_losses(chosen, due).double(), scored).sum(1),
            "tokens": scored.sum(1).double(),
            "correct_tokens": _by_row(correct, scored).sum(1),
        }

    def of_tokens(self, logits: Tensor, labels: Tensor) -> dict[str, Tensor]:
        correct = (logits.argmax(-1) == labels).to(torch.float32)
        return {**super().of_tokens(logits, labels), "correct_tokens": correct}


def _without_beginning(row: Encoding, special: list[int], limit: int) -> Encoding:
    """The last `limit` tokens, with the special tokens that the text begins with."""
    lead = next((number for number, flag in enumerate(special) if not flag), len(special))
    start = len(special) - limit + lead
    return {key: values[:lead] + values[start:] for key, values in row.items()}


def _scored_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """[token]: the cross entropy of tokens that are scored."""
    return functional.cross_entropy(upcast(logits), labels, reduction="none")


def _by_row(values: Tensor, scored: Tensor) -> Tensor:
    """[row, token]: values of the scored tokens in their places, 0 elsewhere; differentiable."""
    return torch.zeros(scored.shape, dtype=values.dtype, device=values.device).masked_scatter(scored, values)
