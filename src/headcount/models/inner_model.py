"""The transformers model inside what is trained: under adapters, in parallel or compiled, in a sentence encoder."""

from __future__ import annotations

from torch import nn
from transformers import PreTrainedModel

from headcount.errors import UnsuitableModel


def inner_model(model: nn.Module) -> PreTrainedModel:
    """The only transformers model in a module, the module itself included; of nested ones, the outermost.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, vocab_size=9))
    >>> inner_model(nn.Sequential(model)) is model
    True
    """
    if any(getattr(config, "is_prompt_learning", False) for config in getattr(model, "peft_config", {}).values()):
        raise UnsuitableModel("got adapters that prepend learned prompts; their model gives nothing without these")
    found = {name: module for name, module in model.named_modules() if isinstance(module, PreTrainedModel)}
    outer = [
        module for name, module in found.items() if not any(_is_inside(name, other) for other in found if other != name)
    ]
    if len(outer) != 1:
        raise UnsuitableModel(f"got {type(model).__name__} with {len(outer)} transformers models; expected one")
    return outer[0]


def _is_inside(name: str, other: str) -> bool:
    return name.startswith(f"{other}.") or not other
