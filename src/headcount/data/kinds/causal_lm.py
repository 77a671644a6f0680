"""Causal language modelling: the loss of each token given the tokens before it."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from headcount.data.kinds.language import Language


class CausalLM(Language):
    """The logits at a token predict the next one."""

    name = "causal-lm"
    aliases: ClassVar[tuple[str, ...]] = ("text-generation", "clm")
    auto_class = "AutoModelForCausalLM"
    least_tokens = 2

    def aligned(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return logits[:, :-1], labels[:, 1:]
