"""Token classification: a tag for each word of a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headcount.data.kinds.kind import Kind, Labels
from headcount.data.kinds.metrics import TAG_ACCURACY
from headcount.data.kinds.outputs import NOT_FINITE, logits_of, mean_token_distances, mean_token_losses
from headcount.data.kinds.own_labels import draw_tags
from headcount.data.kinds.tokens import IGNORED, Encoding
from headcount.data.kinds.typed import Question, Typed
from headcount.errors import DataProblem

if TYPE_CHECKING:
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn


class TokenClassification(Kind):
    """Labels are lists of class numbers, one for each word; the predicted tags are kept."""

    name = "token-classification"
    aliases = ("ner", "pos")
    text_columns = (("tokens",), ("words",))
    label_columns = ("tags", "ner_tags", "upos", "pos_tags", "labels", "label", "chunk_tags", "xpos")
    metrics = (TAG_ACCURACY,)
    auto_class = "AutoModelForTokenClassification"
    named_classes = True
    words = True
    label_lists = True
    own_answers = True

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        assert labels is not None  # the kind has a label column
        tags, notes = labels.class_lists("the tags", "a list, one for each word")
        for number, (text, own) in enumerate(zip(texts, tags, strict=True)):
            if len(text[0]) != len(own):
                got = f"{len(text[0])} words and {len(own)} tags"
                raise DataProblem(f"{labels.where(number)}: got {got}; expected one for each")
        return tags, notes

    def stand_ins(self, texts: list[tuple[Any, ...]]) -> Any:
        return [[0] * len(text[0]) for text in texts]

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        """A word's tag is the label of its first piece; the other pieces are not scored."""
        rows, cut = [], 0
        for text, tags in zip(examples.texts, examples.labels, strict=True):
            encoding = tokenizer(text[0], is_split_into_words=True, truncation=True, max_length=limit)
            numbers = encoding.word_ids()
            first = [word is not None and word not in numbers[:index] for index, word in enumerate(numbers)]
            cut += len(set(numbers) - {None}) < len(text[0])
            labels = [tags[word] if new else IGNORED for word, new in zip(numbers, first, strict=True)]
            rows.append({**encoding, "labels": labels})
        return rows, cut

    def read_typed(self, tokenizer: Any, texts: Sequence[str], limit: int) -> Typed:
        """The words are what stands between spaces; each is a question."""
        words = texts[0].split()
        encoding = tokenizer(words, is_split_into_words=True, truncation=True, max_length=limit)
        numbers = encoding.word_ids()
        first = [at for at, word in enumerate(numbers) if word is not None and word not in numbers[:at]]
        questions = tuple(Question(words[numbers[at]], at) for at in first)
        return Typed({key: list(encoding[key]) for key in encoding}, questions, len(questions) < len(words))

    def answers(self, result: Any, typed: Typed) -> Tensor:
        return logits_of(result)[:, [question.position for question in typed.questions]]

    def nothing_left(self, row: Encoding) -> bool:
        return all(label == IGNORED for label in row["labels"])

    def scored_labels(self, labels: Any, rows: list[Encoding]) -> list[list[int]]:
        """The tags that were encoded: a word may be truncated, or have no pieces at all."""
        return [[tag for tag in row["labels"] if tag != IGNORED] for row in rows]

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        return mean_token_losses(logits_of(result), labels)

    def own_labels(self, result: Any, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
        """A tag of each word, drawn from the predicted distribution."""
        return draw_tags(logits_of(result), labels, draws)

    def distances(self, result: Any, teacher: Any, labels: Tensor, temperature: float) -> Tensor:
        return mean_token_distances(logits_of(result), logits_of(teacher), labels, temperature)

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        return {"predictions": (max((sum(tag >= 0 for tag in row["labels"]) for row in rows), default=0),)}

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        """The tags at labelled tokens, moved to the front of each row and padded with -1."""
        logits, width = logits_of(result), shapes["predictions"][0]
        tags = logits.argmax(-1).masked_fill(~logits.isfinite().all(-1), NOT_FINITE)
        scored = labels != IGNORED
        order = torch.argsort((~scored).to(torch.int8), dim=1, stable=True)
        front = tags.masked_fill(~scored, -1).gather(1, order)[:, :width]
        return {"predictions": functional.pad(front, (0, width - front.shape[1]), value=-1).to(torch.int32)}

    def outputs(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The predictions as lists of tags, without padding."""
        return {"predictions": [[int(tag) for tag in row if tag >= 0] for row in arrays["predictions"]]}
