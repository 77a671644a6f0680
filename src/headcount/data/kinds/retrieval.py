"""Retrieval: queries and documents become vectors, and cosines rank a query's documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from torch import Tensor

from headcount.data.kinds.judged import CANDIDATES, Judged, filled, ranking_metrics
from headcount.data.kinds.pooling import Pooling
from headcount.data.kinds.ranking import ABSENT
from headcount.data.kinds.tokens import Encoding, tokenize
from headcount.data.kinds.vectors import Vectors, pooled

if TYPE_CHECKING:
    from headcount.data.examples import Examples

SCALE = 20.0
"""What cosines are multiplied with in the loss: the usual inverse temperature of contrastive training."""
DOCUMENT_PROMPTS = ("document", "passage", "corpus")
"""By these names, in this order, sentence-transformers looks for the prompt of documents."""


@dataclass(frozen=True)
class Retrieval(Judged, Vectors):
    """An example is the row of a query and one for each of its documents, which are encoded in the same pass.

    The labels of an encoding are the judgements, filled up to the largest number of documents K, and K + 1 spans of
    tokens whose means are the vectors.
    """

    own_query_prompt: str | None = None
    own_document_prompt: str | None = None
    """The user's texts before every query and every document."""
    candidates: int = CANDIDATES

    name = "retrieval"
    aliases = ("information-retrieval", "search", "beir")
    scale = SCALE
    metrics = ranking_metrics(SCALE)
    options = ("pooling", "query_prompt", "document_prompt", "candidates")

    def with_options(self, options: Mapping[str, Any]) -> Self:
        self.check_options(options, self.options)
        candidates = self.check_candidates(options.get("candidates", self.candidates))
        others = {name: value for name, value in options.items() if name != "candidates"}
        return replace(super().with_options(others), candidates=candidates)

    def of_queries(self) -> Pooling:
        return (self.of_model or Pooling()).for_texts("query", own=self.own_query_prompt)

    def of_documents(self) -> Pooling:
        return (self.of_model or Pooling()).for_texts(*DOCUMENT_PROMPTS, own=self.own_document_prompt)

    def notes(self) -> tuple[str, ...]:
        return (self.note(),)

    def spell_prompts(self, pooling: Pooling) -> str:
        prompts = {"query": self.of_queries().prompt, "document": self.of_documents().prompt}
        named = " and ".join(f"{prompt!r} before every {what}" for what, prompt in prompts.items() if prompt)
        return f", with {named}" if named else ", with nothing before queries and documents"

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        width = max(map(len, examples.labels))
        queries, query_spans, cut = _encoded(self.of_queries(), tokenizer, [text for text, _ in examples.texts], limit)
        flat = [document for _, documents in examples.texts for document in documents]
        documents, document_spans, more = _encoded(self.of_documents(), tokenizer, flat, limit)
        rows, start = [], 0
        for query, span, judgements in zip(queries, query_spans, examples.labels, strict=True):
            part = slice(start, start + len(judgements))
            start = part.stop
            texts, spans = [query, *documents[part]], [span, *document_spans[part]]
            spans += [(0, 1)] * (1 + width - len(spans))
            labels = [*filled(judgements, width), *(float(place) for span in spans for place in span)]
            rows.append({key: [text[key] for text in texts] for key in query} | {"labels": labels})
        return rows, cut + more

    def width(self, rows: list[Encoding]) -> int:
        return _width(len(rows[0]["labels"]))

    def vectors(self, result: Any, labels: Tensor) -> Tensor:
        """[query, text, size]: the vectors of queries and documents, of length 1, differentiable."""
        count = len(result.last_hidden_state) // len(labels)
        spans = labels[:, _width(labels.shape[1]) :].unflatten(1, (-1, 2))[:, :count]
        found: Tensor = pooled(result, spans.flatten(0, 1)).unflatten(0, (-1, count))
        return found

    def scores(self, result: Any, labels: Tensor) -> Tensor:
        vectors = self.vectors(result, labels)
        scores: Tensor = (vectors[:, 1:] @ vectors[:, 0, :, None])[..., 0]
        return scores

    def distances(self, result: Any, teacher: Any, labels: Tensor, temperature: float) -> Tensor:
        """The squared distance of the vectors, which have length 1, averaged over the query and its documents."""
        apart = (self.vectors(result, labels) - self.vectors(teacher, labels)).pow(2).sum(-1)
        there = (self.judgements(labels, apart.shape[1] - 1) != ABSENT).to(apart)
        found: Tensor = (apart[:, 0] + (apart[:, 1:] * there).sum(1)) / (1 + there.sum(1))
        return found


def _width(labels: int) -> int:
    """The largest number of documents, from the number of an encoding's labels."""
    return (labels - 2) // 3


def _encoded(
    pooling: Pooling, tokenizer: Any, texts: list[str], limit: int
) -> tuple[list[Encoding], list[tuple[int, int]], int]:
    """Encodings with an attention mask, the spans whose means are the vectors, and how many texts were truncated."""
    limit, before = min(limit, pooling.longest or limit), pooling.before(tokenizer)
    rows, cut = tokenize(tokenizer, [pooling.prepare(text) for text in texts], None, limit)
    rows = [{"attention_mask": [1] * len(row["input_ids"])} | row for row in rows]
    return rows, [pooling.span(row["input_ids"], before) for row in rows], cut
