"""A small decoder without a record whose attention can be spoiled: each spoilt one must be refused, at its step."""

from __future__ import annotations

from typing import Any

import torch
import transformers as tf
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

CONFIG = {
    "vocab_size": 30,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 20,
    "max_position_embeddings": 32,
    "pad_token_id": 0,
}


def eager_attention_forward(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float, **_: Any
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(2, 3) * scaling
    weights = nn.functional.softmax(scores if mask is None else scores + mask, dim=-1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class Plain(nn.Module):
    """Attention as most families have it; the classes below each change one thing."""

    def __init__(self, config: Any, layer_idx: int) -> None:
        super().__init__()
        self.config, self.is_causal, self.size, self.scaling = config, True, 4, 0.5
        self.layer_idx, self.cache = layer_idx, None
        self.q, self.k, self.v, self.o, self.other = (nn.Linear(16, 16) for _ in range(5))

    def attend(self, hidden_states: Tensor, mask: Any) -> Tensor:
        function = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention_forward)
        query, key, value = (
            part(hidden_states).unflatten(-1, (-1, self.size)).transpose(1, 2) for part in (self.q, self.k, self.v)
        )
        if self.cache is not None:
            key, value = self.cache.update(key, value, self.layer_idx)
        output: Tensor = function(self, query, key, value, mask, dropout=0.0, scaling=self.scaling)[0]
        return output

    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        """From head outputs [B, Q, H, D] to what the layer adds."""
        projected: Tensor = self.o(outputs.flatten(2))
        return projected

    def forward(
        self, hidden_states: Tensor, attention_mask: Any = None, past_key_values: Any = None, **_: Any
    ) -> tuple[Tensor, None]:
        self.cache = past_key_values
        return self.finish(self.attend(hidden_states, attention_mask), hidden_states), None


class Swapped(Plain):
    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        return super().finish(outputs.flip(2), hidden_states)


class Scaled(Plain):
    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        return super().finish(outputs * 1.01, hidden_states)


class ReadTwice(Plain):
    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        return super().finish(outputs, hidden_states) + self.other(outputs.flatten(2))  # type: ignore[no-any-return]


class Bypassed(Plain):
    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        return nn.functional.linear(outputs.flatten(2), self.o.weight)


class Beside(Plain):
    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        return super().finish(outputs, hidden_states) + outputs.mean((2, 3))[..., None]


class Dead(Plain):
    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        return 0 * super().finish(outputs, hidden_states)


class AttendsElsewhere(Plain):
    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        weights = (hidden_states @ hidden_states.transpose(1, 2)).softmax(-1)
        return super().finish(outputs, hidden_states) + weights @ hidden_states


class AttendsTwice(Plain):
    def attend(self, hidden_states: Tensor, mask: Any) -> Tensor:
        return super().attend(super().attend(hidden_states, mask).flatten(2), mask)


class Remembers(Plain):
    """The second layer adds what the first was given, past what layers hand to each other."""

    last: dict[str, Tensor] = {}  # noqa: RUF012 - shared by the layers on purpose

    def finish(self, outputs: Tensor, hidden_states: Tensor) -> Tensor:
        below = self.last.pop("hidden", hidden_states)
        if self.layer_idx == 0:
            self.last["hidden"] = hidden_states
        return super().finish(outputs, hidden_states) + below


class NoAttention(Plain):
    def attend(self, hidden_states: Tensor, mask: Any) -> Tensor:
        return self.v(hidden_states).unflatten(-1, (-1, self.size))  # type: ignore[no-any-return]


def decoder(kinds: tuple[type[Plain], ...] = (Plain, Plain), kernel: str = "sdpa") -> Any:
    """A decoder whose layers have these attentions."""
    torch.manual_seed(3)
    model = tf.Starcoder2Model._from_config(tf.Starcoder2Config(**CONFIG), attn_implementation=kernel).eval()
    for number, (layer, kind) in enumerate(zip(model.layers, kinds, strict=True)):
        layer.self_attn = kind(model.config, number).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.3)
    return model
