"""One label for a text or a pair of texts: what classification and regression share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor

from headcount.data.kinds.kind import Kind
from headcount.data.kinds.outputs import logits_of
from headcount.data.kinds.tokens import Encoding, tokenize
from headcount.data.kinds.typed import Question, Typed
from headcount.errors import ModelUnavailable

if TYPE_CHECKING:
    from headcount.data.examples import Examples


class WholeText(Kind):
    """Keeps the logits of each example."""

    text_columns = (("sentence1", "sentence2"), ("sentence",), ("text",))
    auto_class = "AutoModelForSequenceClassification"
    text_titles: ClassVar[tuple[str, ...]] = ("text", "second text")

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        pairs = [text[1] for text in examples.texts] if len(examples.texts[0]) > 1 else None
        rows, cut = tokenize(tokenizer, [text[0] for text in examples.texts], pairs, limit)
        for row, label in zip(rows, examples.labels, strict=True):
            row["labels"] = label
        return rows, cut

    def read_typed(self, tokenizer: Any, texts: Sequence[str], limit: int) -> Typed:
        rows, cut = tokenize(tokenizer, [texts[0]], [texts[1]] if len(texts) > 1 else None, limit)
        return Typed(rows[0], (Question(self.name),), cut > 0)

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        return {"logits": (model.config.num_labels,)}

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        return {"logits": logits_of(result).float()}

    def check_model(self, model: Any, stacks: Collection[str]) -> None:
        if "decoder" in stacks and model.config.pad_token_id is None:
            raise ModelUnavailable(
                f"the config of {type(model).__name__} has no pad_token_id, which it needs to find a text's end; set it"
            )
