"""What kinds of tasks share whose models turn texts into vectors: the pooling, and the vector of a text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional

from headcount.core.options import one_of
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.outputs import upcast
from headcount.data.kinds.pooling import POOLINGS, Pooling, read_pooling, read_settings
from headcount.data.kinds.sentence_files import files_of
from headcount.errors import ModelUnavailable


@dataclass(frozen=True)
class Vectors(Kind):
    """An example is several rows inside the model, one for each text, whose last hidden states are pooled."""

    own_pooling: str | None = None
    """The user's choice, which comes before what the model's folder says."""
    of_model: Pooling | None = None
    """What the model says, with the user's choices in it."""

    auto_class = "AutoModel"
    bare = True
    several_rows = True
    own_answers = True
    has_probabilities = False
    model_computes_loss = False
    without_head = "its vectors are those of the model without a head; load it with head='similarity'"
    options: ClassVar[tuple[str, ...]] = ("pooling",)
    """The names of its options."""

    def with_options(self, options: Mapping[str, Any]) -> Self:
        self.check_options(options, self.options)
        if "pooling" in options:
            one_of("pooling", options["pooling"], POOLINGS)
        return replace(self, **{f"own_{name}": value for name, value in options.items()})

    def own_options(self) -> dict[str, Any]:
        own = {name: getattr(self, f"own_{name}", None) for name in self.options}
        return {name: value for name, value in own.items() if value is not None}

    def for_model(self, model: Any) -> Self:
        """With the pooling of the model's folder, where that was written by sentence-transformers."""
        if self.of_model is not None:
            return self
        files = files_of(model)
        if self.own_pooling is None:
            pooling = read_pooling(files)
        else:
            pooling = replace(read_settings(files), mode=self.own_pooling, known=False)
        return replace(self, of_model=self.user_prompts(pooling))

    def user_prompts(self, pooling: Pooling) -> Pooling:
        """The pooling with the texts that the user puts before texts."""
        return pooling

    def note(self) -> str:
        """What a result says of the vectors."""
        pooling = self.of_model or Pooling()
        if self.own_pooling is not None:
            return f"a text's vector is {POOLINGS[self.own_pooling]}, as pooling= says{self.spell_prompts(pooling)}"
        return pooling.note() + self.spell_prompts(pooling)

    def spell_prompts(self, pooling: Pooling) -> str:
        """The end of the note, about what precedes texts."""
        return f", with {pooling.prompt!r} before every text" if pooling.prompt else ""

    def prompt(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {key: value.flatten(0, 1) for key, value in super().prompt(model, batch).items()}

    def check_model(self, model: Any, stacks: Collection[str]) -> None:
        if "cross" in stacks:
            raise ModelUnavailable(
                f"{type(model).__name__} has an encoder and a decoder; {self.name} needs a model with one stack, such "
                "as its encoder alone"
            )


def pooled(result: Any, spans: Tensor) -> Tensor:
    """[row, size]: the mean of the last hidden states over each row's span [row, (start, stop)], with length 1."""
    states = upcast(result.last_hidden_state)
    spans = spans[..., None].to(states.device)
    places = torch.arange(states.shape[1], device=states.device)
    counted = ((places >= spans[:, 0]) & (places < spans[:, 1])).to(states.dtype)
    means = (counted[:, None] @ states)[:, 0] / counted.sum(1, keepdim=True)
    unit: Tensor = functional.normalize(means, dim=-1)
    return unit
