"""Translation: an encoder reads a source text, a decoder writes the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headcount.data.kinds.kind import Labels
from headcount.data.kinds.language import Language
from headcount.data.kinds.metrics import BLEU, CHRF, PERPLEXITY, TEXT_LOG_PROBABILITY, TOKEN_LOSS
from headcount.data.kinds.outputs import logits_of
from headcount.data.kinds.tokens import IGNORED, Encoding, tokenize
from headcount.data.kinds.typed import Question, Typed

if TYPE_CHECKING:
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn


class Translation(Language):
    """Labels are the target texts, scored by comparison with generated texts or by their loss."""

    name = "translation"
    text_columns = (("source", "target"),)
    metrics = (BLEU, CHRF, TOKEN_LOSS, PERPLEXITY, TEXT_LOG_PROBABILITY)
    auto_class = "AutoModelForSeq2SeqLM"
    labels_are_inputs = True
    own_answers = False
    all_texts_needed = True
    text_titles = ("source", "beginning of the target")
    writes = True

    def token_ids(self, tokenizer: Any, texts: list[Any], column: int) -> list[list[int]]:
        if column == 0:
            return super().token_ids(tokenizer, texts, column)
        ids: list[list[int]] = tokenizer(text_target=texts, verbose=False)["input_ids"]
        return ids

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        return [target for _, target in texts], ()

    def input_texts(self, texts: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [(source,) for source, _ in texts]

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        rows, cut = tokenize(tokenizer, [text[0] for text in examples.texts], None, limit)
        targets = tokenizer(text_target=list(examples.labels), truncation=True, max_length=limit)["input_ids"]
        for row, target in zip(rows, targets, strict=True):
            row["labels"] = target
        return rows, cut

    def inputs(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        shifted = model.prepare_decoder_input_ids_from_labels(labels=batch["labels"])
        return self.prompt(model, batch) | {"decoder_input_ids": shifted}

    def query_mask(self, batch: Mapping[str, Tensor], stack: str) -> Tensor:
        return super().query_mask(batch, stack) if stack == "encoder" else (batch["labels"] != IGNORED).long()

    def read_typed(self, tokenizer: Any, texts: Sequence[str], limit: int) -> Typed:
        """What comes next in the target, after its beginning if that is given."""
        rows, cut = tokenize(tokenizer, [texts[0]], None, limit)
        target = texts[1] if len(texts) > 1 else ""
        labels = tokenizer(text_target=target, truncation=True, max_length=limit)["input_ids"]
        return Typed({**rows[0], "labels": list(labels)}, (Question("next token", len(labels) - 1),), cut > 0)

    def as_typed(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The source alone: the target is what the model is asked for."""
        return (texts[0],)

    def typed_inputs(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Any]:
        return self.inputs(model, batch)

    def answers(self, result: Any, typed: Typed) -> Tensor:
        return logits_of(result)[:, -1:]
