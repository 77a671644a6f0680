"""Texts that a user types, one example at a time: how a kind of task reads them, and what the model's answer is."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from headcount.data.kinds.tokens import Encoding

MASK = "[MASK]"
"""What a user types for a masked word, whatever the tokenizer calls it."""


@dataclass(frozen=True)
class Question:
    """One thing that the model answers; `position` is the token that it is about, if it is about one."""

    title: str
    position: int | None = None


@dataclass(frozen=True)
class Typed:
    """An example as the model reads it, without a label; `cut`: whether it was truncated."""

    row: Encoding
    questions: tuple[Question, ...]
    cut: bool = False


class Answers:
    """What kinds of tasks do with typed texts; a kind defines at least `read_typed` and `answers`."""

    text_titles: ClassVar[tuple[str, ...]] = ("text",)
    """A name for each text that a user types, in their order."""
    texts_needed: ClassVar[int] = 1
    """How many of these must be given."""
    most_texts: ClassVar[int | None] = None
    """How many may be given; None for as many as have titles."""
    no_question: ClassVar[str] = ""
    """What to type where a text asks nothing."""
    writes: ClassVar[bool] = False
    """Whether the model can go on writing."""

    def suits(self, config: Any) -> bool:
        """Whether a model with the right head and this config does this kind, which must say how it answers."""
        return type(self).answers is not Answers.answers

    def read_typed(self, tokenizer: Any, texts: Sequence[str], limit: int) -> Typed:
        """The example that these texts are, truncated to `limit` tokens."""
        raise NotImplementedError

    def typed_inputs(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Any]:
        """The inputs of a forward pass that answers the questions of a typed example."""
        raise NotImplementedError

    def answers(self, result: Any, typed: Typed) -> Tensor:
        """[row, question, option]: the logits that answer the questions, of any number of rows."""
        raise NotImplementedError

    def option_names(self, options: Sequence[int], tokenizer: Any, classes: Mapping[int, str]) -> list[str]:
        """The names of some options; `classes`: those of the model's classes."""
        return [str(classes.get(option, option)) for option in options]

    def as_typed(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Texts of data as a user would type them."""
        return tuple(texts[: self.most_texts or len(self.text_titles)])


def word_names(options: Sequence[int], tokenizer: Any) -> list[str]:
    """Tokens as they stand in a text, with their space."""
    return [tokenizer.decode([option]) or str(tokenizer.convert_ids_to_tokens(option)) for option in options]


def last_logits(model: Any) -> dict[str, int]:
    """The input that asks for the logits of the last token alone, if the model takes it."""
    return {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
