"""Similarity: texts become vectors, and the cosine of a pair is compared with its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headcount.data.kinds.kind import Labels
from headcount.data.kinds.metrics import PEARSON, SPEARMAN, SQUARED_ERROR, Outputs
from headcount.data.kinds.pooling import Pooling
from headcount.data.kinds.tokens import Encoding, tokenize
from headcount.data.kinds.typed import Question, Typed
from headcount.data.kinds.vectors import Vectors, pooled
from headcount.errors import DataProblem

if TYPE_CHECKING:
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn

SCALES = (1.0, 5.0, 10.0, 100.0)
"""The usual highest scores of pairs."""


@dataclass(frozen=True)
class TypedPair(Typed):
    """`spans`: for each text the tokens whose mean is its vector."""

    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Similarity(Vectors):
    """An example is two rows inside the model, whose last hidden states are pooled; the cosine of the pair is kept.

    The label of an encoding is the score of the pair and, for each text, the span of tokens whose mean is its vector,
    so that nothing but the labels is needed where a result is read.
    """

    own_prompt: str | None = None
    """The user's text before every text."""

    name = "similarity"
    aliases = ("sentence-similarity", "sts", "embedding")
    text_columns = (("sentence1", "sentence2"), ("text1", "text2"), ("sentence_A", "sentence_B"))
    label_columns = ("label", "score", "similarity_score", "similarity")
    metrics = (SPEARMAN, PEARSON, SQUARED_ERROR)
    all_texts_needed = True
    options = ("pooling", "prompt")
    text_titles = ("text", "second text")
    texts_needed = 2

    def user_prompts(self, pooling: Pooling) -> Pooling:
        return pooling if self.own_prompt is None else replace(pooling, prompt=self.own_prompt)

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        """Scores divided by the highest that is usual, so that they can be compared with cosines."""
        assert labels is not None  # the kind has a label column
        numbers = labels.numbers()
        scale = scale_of(numbers)
        divided = "" if scale == 1 else f" divided by {scale:g}"
        loss = f"the loss of a pair is the squared difference of its cosine and its score{divided}"
        return numbers / scale, (self.note(), loss)

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        if len(examples.texts[0]) != 2:
            raise DataProblem(
                f"got {len(examples.texts[0])} text column for similarity; expected two, as in text=(a, b)"
            )
        first, second = zip(*examples.texts, strict=True)
        pairs, cut = self._encode_pairs(first, second, tokenizer, limit)
        rows = []
        for (row, spans), label in zip(pairs, examples.labels, strict=True):
            places = [float(place) for span in spans for place in span]
            rows.append(row | {"labels": [float(label), *places]})
        return rows, cut

    def _encode_pairs(
        self, first: Sequence[str], second: Sequence[str], tokenizer: Any, limit: int
    ) -> tuple[list[tuple[Encoding, list[tuple[int, int]]]], int]:
        """Of each pair its two rows with their spans, and how many texts were truncated."""
        pooling = self.of_model or Pooling()
        limit, before = min(limit, pooling.longest or limit), pooling.before(tokenizer)
        (ours, cut), (theirs, more) = (
            tokenize(tokenizer, [pooling.prepare(text) for text in column], None, limit) for column in (first, second)
        )
        pairs = []
        for one, other in zip(ours, theirs, strict=True):
            spans = [pooling.span(row["input_ids"], before) for row in (one, other)]
            pairs.append(({key: [one[key], other[key]] for key in one}, spans))
        return pairs, cut + more

    def suits(self, config: Any) -> bool:
        # That a model without a head makes vectors is what its folder says (`makes_vectors`), not its config.
        return False

    def read_typed(self, tokenizer: Any, texts: Sequence[str], limit: int) -> Typed:
        (((row, spans),), cut) = self._encode_pairs(texts[:1], texts[1:2], tokenizer, limit)
        return TypedPair(row, (Question("cosine"),), cut > 0, tuple(spans))

    def answers(self, result: Any, typed: Typed) -> Tensor:
        assert isinstance(typed, TypedPair)
        spans = torch.tensor(typed.spans)
        first, second = (
            pooled(result, spans.repeat(len(result.last_hidden_state) // 2, 1)).unflatten(0, (-1, 2)).unbind(1)
        )
        cosines: Tensor = (first * second).sum(-1)
        return cosines[:, None, None]

    def option_names(self, options: Sequence[int], tokenizer: Any, classes: Mapping[int, str]) -> list[str]:
        return ["cosine"] * len(options)

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        cosines = self.cosines(result, labels)
        errors: Tensor = cosines - labels[:, 0].to(cosines.dtype)
        return errors**2

    def own_labels(self, result: Any, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
        """Half a point below the cosine: the slope of the squared error is then that of the cosine itself."""
        return torch.cat([(self.cosines(result, labels).detach() - 0.5).to(labels)[:, None], labels[:, 1:]], 1)

    def distances(self, result: Any, teacher: Any, labels: Tensor, temperature: float) -> Tensor:
        """The squared distance of the vectors, which have length 1, averaged over both texts."""
        return (vectors(result, labels) - vectors(teacher, labels)).pow(2).sum(-1).mean(-1)

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        return {"logits": (1,)}

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        return {"logits": self.cosines(result, labels)[:, None].float()}

    def cosines(self, result: Any, labels: Tensor) -> Tensor:
        """[example]: the cosine of each pair, differentiable."""
        first, second = vectors(result, labels).unbind(1)
        cosines: Tensor = (first * second).sum(-1)
        return cosines

    def predictions(self, outputs: Outputs) -> Any:
        return outputs["logits"][..., 0]

    def has_failed(self, scores: Mapping[str, float], labels: Any) -> bool:
        """If there is no positive correlation."""
        return not next(iter(scores.values())) > 0


def vectors(result: Any, labels: Tensor) -> Tensor:
    """[example, text, size]: the vectors of both texts, of length 1, differentiable."""
    pairs: Tensor = pooled(result, labels[:, 1:].reshape(-1, 2)).unflatten(0, (-1, 2))
    return pairs


def scale_of(scores: np.ndarray) -> float:
    """The number that brings scores into the range of a cosine: the lowest usual one that is at least as high.

    >>> scale_of(np.array([0.2, 0.9])), scale_of(np.array([0, 4.8])), scale_of(np.array([-300, 20]))
    (1.0, 5.0, 300.0)
    """
    highest = float(np.abs(scores).max())
    return next((scale for scale in SCALES if highest <= scale), highest)
