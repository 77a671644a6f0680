"""What kinds of tasks share in which an example is a query with its judged documents, which a model ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headcount.data.kinds.kind import Kind, Labels
from headcount.data.kinds.metrics import Metric, Outputs
from headcount.data.kinds.outputs import upcast
from headcount.data.kinds.own_labels import draw_classes
from headcount.data.kinds.ranking import ABSENT, PAIR_SPEARMAN, SCORES, at_depth, listwise_loss
from headcount.data.kinds.tokens import Encoding
from headcount.errors import DataProblem, InvalidOption

if TYPE_CHECKING:
    from headcount.data.labels import LabelColumn

CANDIDATES = 20
"""Documents of a query by default, where the data is a whole corpus."""


class Judged(Kind):
    """Keeps the scores of each query's documents. An encoding's labels begin with the judgements of `width` documents.

    A subclass defines `scores` and `encode`. Inside the model a query's documents are rows of their own.
    """

    text_columns = (
        ("query", "documents"),
        ("query", "document"),
        ("query", "passages"),
        ("query", "passage"),
        ("question", "passages"),
        ("question", "passage"),
    )
    label_columns = ("relevance", "judgements", "labels", "label", "scores", "score")
    label_lists = True
    several_rows = True
    own_answers = True
    all_texts_needed = True
    has_probabilities = False
    model_computes_loss = False
    has_documents = True
    scale: ClassVar[float] = 1.0
    """What scores are multiplied with before a softmax."""

    def is_list(self, column: int) -> bool:
        return column == 1

    def find_metric(self, name: str) -> Metric:
        known = at_depth(name) or next((metric for metric in self.metrics if metric.name == name), None)
        if known is None:
            raise InvalidOption(
                f"got the metric {name!r} for {self.name}; expected one of "
                f"{', '.join(metric.name for metric in self.metrics)}, or another depth, such as ndcg@5"
            )
        return known

    def own_options(self) -> dict[str, Any]:
        return super().own_options() | ({} if self.candidates == CANDIDATES else {"candidates": str(self.candidates)})

    def check_candidates(self, candidates: Any) -> int:
        """The option `candidates`, which is text in a task's name."""
        if not str(candidates).isdecimal() or int(candidates) < 2:
            raise InvalidOption(f"got candidates={candidates}; expected a number of documents for a query, at least 2")
        return int(candidates)

    # Reading

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        """The judgements of each query's documents; those below 0 are no better than 0."""
        assert labels is not None  # the kind has a label column
        self.check_columns(texts)
        read = [[max(0.0, value) for value in values] for values in labels.number_lists()]
        for number, (values, text) in enumerate(zip(read, texts, strict=True)):
            if len(values) != len(text[1]):
                raise DataProblem(
                    f"{labels.where(number)}: got {len(values)} judgements for {len(text[1])} documents; expected one "
                    "for each"
                )
            if not any(values):
                raise DataProblem(
                    f"{labels.where(number)}: no document of the query is relevant (all judgements are 0); leave it out"
                )
        if all(min(values) == max(values) for values in read):
            raise DataProblem(
                "every query's documents are judged alike, so that every ranking of them is as good; expected "
                "documents that are less relevant too"
            )
        loss = "the loss of a query is the cross entropy between its judgements, as shares, and the softmax of its "
        loss += "documents' scores" + ("" if self.scale == 1 else f" times {self.scale:g}")
        return read, (*self.notes(), loss)

    def check_columns(self, texts: list[tuple[Any, ...]]) -> None:
        """Refuse other than two text columns."""
        if len(texts[0]) != 2:
            raise DataProblem(
                f"got {len(texts[0])} text column for {self.name}; expected two, the query and its documents: name "
                "both with text="
            )

    def notes(self) -> tuple[str, ...]:
        """What a result says of how documents are scored."""
        return ()

    def stand_ins(self, texts: list[tuple[Any, ...]]) -> Any:
        self.check_columns(texts)
        return [[0.0] * len(documents) for _, documents in texts]

    def size(self, row: Encoding) -> int:
        return len(row["input_ids"]) * max(map(len, row["input_ids"]))

    # The forward pass

    def judgements(self, labels: Tensor, count: int) -> Tensor:
        """[query, document]: the judgements of the first `count` documents, ABSENT where there are fewer."""
        return labels[:, :count]

    def scores(self, result: Any, labels: Tensor) -> Tensor:
        """[query, document]: the scores, differentiable, with as many columns as the longest list of the batch."""
        raise NotImplementedError

    def _masked(self, result: Any, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The scores times `scale`, very low for absent documents, and the judgements."""
        scores = upcast(self.scores(result, labels))
        known = self.judgements(labels, scores.shape[1]).to(scores)
        return (self.scale * scores).masked_fill(known == ABSENT, torch.finfo(scores.dtype).min), known

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        scores, known = self._masked(result, labels)
        gains = known.clamp(min=0)
        shares = gains / gains.sum(1, keepdim=True).clamp(min=torch.finfo(gains.dtype).tiny)
        lost: Tensor = -(shares * scores.log_softmax(-1)).sum(1)
        return lost

    def own_labels(self, result: Any, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
        """One document is relevant, which is drawn from the softmax of the scores."""
        scores, known = self._masked(result, labels)
        last = (known != ABSENT).sum(1) - 1
        chosen = torch.minimum(draw_classes(scores, draws), last)
        gains = torch.zeros_like(known).scatter(1, chosen[:, None], 1.0).masked_fill(known == ABSENT, ABSENT)
        drawn = labels.clone()
        drawn[:, : gains.shape[1]] = gains.to(labels)
        return drawn

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        return {SCORES: (self.width(rows),)}

    def width(self, rows: list[Encoding]) -> int:
        """The largest number of documents."""
        raise NotImplementedError

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        scores = self.scores(result, labels).float()
        scores = scores.masked_fill(self.judgements(labels, scores.shape[1]).to(scores) == ABSENT, 0)
        return {SCORES: torch.nn.functional.pad(scores, (0, shapes[SCORES][0] - scores.shape[1]))}

    # Scores

    def predictions(self, outputs: Outputs) -> Any:
        """For each query the scores of its documents."""
        return outputs[SCORES]


def ranking_metrics(scale: float) -> tuple[Metric, ...]:
    """The metrics of a kind, the default first."""
    ranked = tuple(metric for name in ("ndcg@10", "recall@1", "recall@10") if (metric := at_depth(name)) is not None)
    return (*ranked, PAIR_SPEARMAN, listwise_loss(scale))


def filled(values: Sequence[float], width: int) -> list[float]:
    """The judgements of a query, filled up with `ABSENT`."""
    return [*map(float, values), *[ABSENT] * (width - len(values))]
