"""Reranking: a cross-encoder reads a query with each of its documents, and its single output ranks them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from torch import Tensor

from headcount.data.kinds.judged import CANDIDATES, Judged, filled, ranking_metrics
from headcount.data.kinds.outputs import logits_of, upcast
from headcount.data.kinds.pooling import read_settings
from headcount.data.kinds.ranking import ABSENT
from headcount.data.kinds.sentence_files import SETTINGS, files_of
from headcount.data.kinds.tokens import Encoding, tokenize
from headcount.errors import ModelUnavailable, UnsuitableModel

if TYPE_CHECKING:
    from headcount.data.examples import Examples


@dataclass(frozen=True)
class Reranking(Judged):
    """An example is a row for each document of a query; the labels of an encoding are the judgements."""

    candidates: int = CANDIDATES

    name = "reranking"
    aliases = ("reranker", "cross-encoder")
    auto_class = "AutoModelForSequenceClassification"
    metrics = ranking_metrics(1.0)

    def with_options(self, options: Mapping[str, Any]) -> Self:
        self.check_options(options, ("candidates",))
        return replace(self, candidates=self.check_candidates(options.get("candidates", self.candidates)))

    def for_model(self, model: Any) -> Self:
        """Pairs are read without a prompt."""
        prompt = read_settings(files_of(model)).prompt
        if prompt:
            raise UnsuitableModel(
                f"the model's folder puts {prompt!r} before texts ({SETTINGS}), which is not computed for pairs; "
                "remove default_prompt_name there to rank without it"
            )
        return self

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        width = max(map(len, examples.labels))
        queries = [query for query, documents in examples.texts for _ in documents]
        documents = [document for _, documents in examples.texts for document in documents]
        pairs, cut = tokenize(tokenizer, queries, documents, limit)
        pairs = [{"attention_mask": [1] * len(pair["input_ids"])} | pair for pair in pairs]
        rows, start = [], 0
        for judgements in examples.labels:
            own = pairs[start : start + len(judgements)]
            start += len(judgements)
            rows.append({key: [pair[key] for pair in own] for key in own[0]} | {"labels": filled(judgements, width)})
        return rows, cut

    def prompt(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {key: value.flatten(0, 1) for key, value in super().prompt(model, batch).items()}

    def width(self, rows: list[Encoding]) -> int:
        return len(rows[0]["labels"])

    def scores(self, result: Any, labels: Tensor) -> Tensor:
        scores: Tensor = upcast(logits_of(result))[:, 0].unflatten(0, (len(labels), -1))
        return scores

    def distances(self, result: Any, teacher: Any, labels: Tensor, temperature: float) -> Tensor:
        """The squared difference of the scores, averaged over the documents."""
        ours, theirs = self.scores(result, labels), self.scores(teacher, labels)
        there = (self.judgements(labels, ours.shape[1]) != ABSENT).to(ours)
        found: Tensor = ((ours - theirs) ** 2 * there).sum(1) / there.sum(1)
        return found

    def check_model(self, model: Any, stacks: Collection[str]) -> None:
        if model.config.num_labels != 1:
            raise ModelUnavailable(
                f"{type(model).__name__} has {model.config.num_labels} outputs; reranking needs a model with one, as "
                "cross-encoders have"
            )
        if "decoder" in stacks and model.config.pad_token_id is None:
            raise ModelUnavailable(
                f"the config of {type(model).__name__} has no pad_token_id, which it needs to find a text's end; set it"
            )

    def config_changes(self, names: Sequence[str]) -> dict[str, Any]:
        return {"num_labels": 1}
