"""What layers are called with in a real pass, so that each of them can be run alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.trace.forward_overrides import ForwardOverride, overriding_forwards
from headcount.trace.modes import evaluating

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""


@torch.no_grad()
def layer_arguments(
    model: PreTrainedModel, layers: Iterable[nn.Module], inputs: Mapping[str, Tensor]
) -> dict[nn.Module, Arguments]:
    """The arguments of the first call of each layer in a pass over `inputs`, without a cache, which calls would fill.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9))
    >>> layer = model.encoder.layer[1]
    >>> (states, *_), _ = layer_arguments(model, [layer], {"input_ids": torch.ones(1, 5, dtype=torch.long)})[layer]
    >>> states.shape
    torch.Size([1, 5, 24])
    """
    seen: dict[nn.Module, Arguments] = {}

    def keep(layer: nn.Module) -> ForwardOverride:
        def call(forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            seen.setdefault(layer, (args, kwargs))
            return forward(*args, **kwargs)

        return call

    always = {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}
    with evaluating(model), overriding_forwards({layer: keep(layer) for layer in layers}):
        model(**inputs, **always)
    return seen
