"""Similarity: texts become vectors, and the cosine of a pair is compared with its score."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headcount.core.options import one_of
from headcount.data.kinds.kind import Kind, Labels
from headcount.data.kinds.metrics import PEARSON, SPEARMAN, SQUARED_ERROR, Outputs
from headcount.data.kinds.outputs import upcast
from headcount.data.kinds.pooling import POOLINGS, Pooling, read_pooling, read_settings
from headcount.data.kinds.sentence_files import FILES, read_sentence_files
from headcount.data.kinds.tokens import Encoding, tokenize
from headcount.errors import DataProblem, ModelUnavailable

if TYPE_CHECKING:
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn

SCALES = (1.0, 5.0, 10.0, 100.0)
"""The usual highest scores of pairs."""


@dataclass(frozen=True)
class Similarity(Kind):
    """An example is two rows inside the model, whose last hidden states are pooled; the cosine of the pair is kept.

    The label of an encoding is the score of the pair and, for each text, the span of tokens whose mean is its vector,
    so that nothing but the labels is needed where a result is read.
    """

    own_pooling: str | None = None
    """The user's choice, which comes before what the model's folder says."""
    own_prompt: str | None = None
    """The user's text before every text."""
    of_model: Pooling | None = None
    """What the model says, with the user's choices in it."""

    name = "similarity"
    aliases = ("sentence-similarity", "sts", "embedding")
    text_columns = (("sentence1", "sentence2"), ("text1", "text2"), ("sentence_A", "sentence_B"))
    label_columns = ("label", "score", "similarity_score", "similarity")
    metrics = (SPEARMAN, PEARSON, SQUARED_ERROR)
    auto_class = "AutoModel"
    bare = True
    several_rows = True
    own_answers = True
    all_texts_needed = True
    has_probabilities = False
    without_head = "its vectors are those of the model without a head; load it with head='similarity'"

    def with_options(self, options: Mapping[str, Any]) -> Similarity:
        self.check_options(options, ("pooling", "prompt"))
        if "pooling" in options:
            one_of("pooling", options["pooling"], POOLINGS)
        return replace(self, **{f"own_{name}": value for name, value in options.items()})

    def for_model(self, model: Any) -> Similarity:
        """With the pooling of the model's folder, where that was written by sentence-transformers."""
        if self.of_model is not None:
            return self
        files = getattr(model, FILES, None)
        if files is None:
            files = read_sentence_files(Path(str(getattr(model.config, "_name_or_path", "") or "no folder")))
        if self.own_pooling is None:
            pooling = read_pooling(files)
        else:
            pooling = replace(read_settings(files), mode=self.own_pooling, known=False)
        if self.own_prompt is not None:
            pooling = replace(pooling, prompt=self.own_prompt)
        return replace(self, of_model=pooling)

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        """Scores divided by the highest that is usual, so that they can be compared with cosines."""
        assert labels is not None  # the kind has a label column
        numbers = labels.numbers()
        scale = scale_of(numbers)
        divided = "" if scale == 1 else f" divided by {scale:g}"
        loss = f"the loss of a pair is the squared difference of its cosine and its score{divided}"
        return numbers / scale, (self._note(), loss)

    def _note(self) -> str:
        if self.own_pooling is not None:
            before = (
                f", with {self.of_model.prompt!r} before every text" if self.of_model and self.of_model.prompt else ""
            )
            return f"a text's vector is {POOLINGS[self.own_pooling]}, as pooling= says{before}"
        return (self.of_model or Pooling()).note()

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        if len(examples.texts[0]) != 2:
            raise DataProblem(
                f"got {len(examples.texts[0])} text column for similarity; expected two, as in text=(a, b)"
            )
        pooling = self.of_model or Pooling()
        limit, before = min(limit, pooling.longest or limit), pooling.before(tokenizer)
        encoded = [
            tokenize(tokenizer, [pooling.prepare(text) for text in column], None, limit)
            for column in zip(*examples.texts, strict=True)
        ]
        (first, cut), (second, more) = encoded
        rows = []
        for one, other, label in zip(first, second, examples.labels, strict=True):
            spans = [place for row in (one, other) for place in pooling.span(row["input_ids"], before)]
            rows.append({key: [one[key], other[key]] for key in one} | {"labels": [float(label), *map(float, spans)]})
        return rows, cut + more

    def prompt(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {key: value.flatten(0, 1) for key, value in super().prompt(model, batch).items()}

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

    def check_model(self, model: Any, stacks: Collection[str]) -> None:
        if "cross" in stacks:
            raise ModelUnavailable(
                f"{type(model).__name__} has an encoder and a decoder; similarity needs a model with one stack, such "
                "as its encoder alone"
            )

    def has_failed(self, scores: Mapping[str, float], labels: Any) -> bool:
        """If there is no positive correlation."""
        return not next(iter(scores.values())) > 0


def vectors(result: Any, labels: Tensor) -> Tensor:
    """[example, text, size]: the vectors of both texts, of length 1, differentiable."""
    states = upcast(result.last_hidden_state)
    spans = labels[:, 1:].reshape(-1, 2, 1).to(states.device)  # [row, (start, stop), 1]
    places = torch.arange(states.shape[1], device=states.device)
    counted = ((places >= spans[:, 0]) & (places < spans[:, 1])).to(states.dtype)
    means = (counted[:, None] @ states)[:, 0] / counted.sum(1, keepdim=True)
    unit: Tensor = functional.normalize(means, dim=-1).unflatten(0, (-1, 2))
    return unit


def scale_of(scores: np.ndarray) -> float:
    """The number that brings scores into the range of a cosine: the lowest usual one that is at least as high.

    >>> scale_of(np.array([0.2, 0.9])), scale_of(np.array([0, 4.8])), scale_of(np.array([-300, 20]))
    (1.0, 5.0, 300.0)
    """
    highest = float(np.abs(scores).max())
    return next((scale for scale in SCALES if highest <= scale), highest)
