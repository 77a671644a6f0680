"""The last layer of a classifier that reads the first position alone, computed only there.

Keys and values come from all positions, queries and everything after them from the first: about a sixth of the layer's
arithmetic remains.
"""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor


def _attend(module: Any, names: tuple[str, str, str], hidden: Tensor, mask: Tensor | None) -> Tensor:
    """The head outputs [B, 1, heads * size] of the first position, through the model's own kernel."""
    query, key, value = (
        module.get_submodule(name)(states).unflatten(-1, (-1, module.attention_head_size)).transpose(1, 2)
        for name, states in zip(names, (hidden[:, :1], hidden, hidden), strict=True)
    )
    family = sys.modules[type(module).__module__]
    attention = family.ALL_ATTENTION_FUNCTIONS.get_interface(
        module.config._attn_implementation,
        family.eager_attention_forward,
    )
    mask = None if mask is None else mask[:, :, :1]
    outputs: Tensor = attention(module, query, key, value, mask, dropout=0.0, scaling=module.scaling)[0]
    return outputs.flatten(2)


def bert_first_position(
    layer: Any, hidden_states: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any
) -> Tensor:
    outputs = _attend(layer.attention.self, ("query", "key", "value"), hidden_states, attention_mask)
    attended = layer.attention.output(outputs, hidden_states[:, :1])
    result: Tensor = layer.feed_forward_chunk(attended)
    return result


def distilbert_first_position(
    layer: Any, hidden_states: Tensor, attention_mask: Tensor | None = None, **_: Any
) -> Tensor:
    outputs = _attend(layer.attention, ("q_lin", "k_lin", "v_lin"), hidden_states, attention_mask)
    attended = layer.sa_layer_norm(layer.attention.out_lin(outputs) + hidden_states[:, :1])
    result: Tensor = layer.output_layer_norm(layer.ffn(attended) + attended)
    return result
