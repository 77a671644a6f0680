"""Language modelling: what masked, causal and translation models share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor

from headcount.data.kinds.kind import Kind, Labels
from headcount.data.kinds.metrics import PERPLEXITY, TOKEN_LOSS, Metric, Outputs
from headcount.data.kinds.outputs import logits_of, mean_token_losses, token_losses
from headcount.data.kinds.tokens import IGNORED, Encoding, tokenize

if TYPE_CHECKING:
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn


class Language(Kind):
    """The text is its own label; the summed loss and the number of labelled tokens of each example are kept."""

    text_columns: ClassVar[tuple[tuple[str, ...], ...]] = (("text",), ("sentence",))
    label_columns = ()
    metrics: ClassVar[tuple[Metric, ...]] = (TOKEN_LOSS, PERPLEXITY)
    over_vocabulary = True
    masked: ClassVar[bool] = False
    """Whether the tokens to predict are masked in the text."""

    def aligned(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and labels, shifted so that they are of the same tokens."""
        return logits, labels

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        return None, ()

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        rows, cut = tokenize(tokenizer, [text[0] for text in examples.texts], None, limit)
        for row in rows:
            row["labels"] = list(row["input_ids"])
        return rows, cut

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        return mean_token_losses(*self.aligned(logits_of(result), labels))

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        return {"loss": (), "tokens": ()}

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        logits, labels = self.aligned(logits_of(result), labels)
        losses = token_losses(logits.float(), labels)
        return {"loss": losses.double().sum(1), "tokens": (labels != IGNORED).sum(1).double()}

    def predictions(self, outputs: Outputs) -> Any:
        """Generated texts, or the mean loss of each example."""
        return outputs["predictions"] if "predictions" in outputs else outputs["loss"] / outputs["tokens"]
