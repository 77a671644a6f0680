"""Causal language modelling: the loss of each token given the tokens before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from headcount.data.kinds.language import Language
from headcount.data.kinds.outputs import logits_of
from headcount.data.kinds.tokens import tokenize
from headcount.data.kinds.typed import Question, Typed, last_logits


class CausalLM(Language):
    """The logits at a token predict the next one."""

    name = "causal-lm"
    aliases: ClassVar[tuple[str, ...]] = ("text-generation", "clm")
    auto_class = "AutoModelForCausalLM"
    least_tokens = 2
    text_titles = ("prompt",)
    writes = True

    def aligned(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return logits[:, :-1], labels[:, 1:]

    def read_typed(self, tokenizer: Any, texts: Sequence[str], limit: int) -> Typed:
        rows, cut = tokenize(tokenizer, [texts[0]], None, limit)
        return Typed(rows[0], (Question("next token", len(rows[0]["input_ids"]) - 1),), cut > 0)

    def typed_inputs(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Any]:
        return {**self.prompt(model, batch), **last_logits(model)}

    def answers(self, result: Any, typed: Typed) -> Tensor:
        return logits_of(result)[:, -1:]
