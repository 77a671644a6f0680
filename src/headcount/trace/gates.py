"""Gates: numbers that multiply the outputs of heads or feed-forward units, differentiable; what `head_mask` was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.heads import Layout
from headcount.core.units import UnitLayout
from headcount.errors import InvalidOption
from headcount.models.compiled import plain_model
from headcount.trace.anatomy import read_anatomy
from headcount.trace.call import AttentionCall
from headcount.trace.edits import Edit, LayerKey, OutputEdit
from headcount.trace.session import session


class Gate(OutputEdit):
    """Multiplies each head's output by its gate: gates [head] or [example, head]."""

    def __init__(self, gates: Tensor) -> None:
        self.gates = gates

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        gates = self.gates.to(outputs)
        return outputs * (gates[:, None, :, None] if gates.ndim == 2 else gates[:, None])


@contextmanager
def gated(model: PreTrainedModel, gates: Any = None, *, units: Any = None) -> Iterator[PreTrainedModel]:
    """Multiply every head's output by its gate, before the output projection.

    `gates` is a tensor [layer, head], or [example, layer, head] for gates of each example; for an encoder-decoder a
    dict of such tensors by stack (stacks that it leaves out are not gated). Gradients flow to the gates: after
    `loss.backward()`, `gates.grad` is what `head_mask.grad` was. `units`: in the same way gates [layer, unit] for the
    units of the feed-forward layers, before their output projection; together with gates of heads or alone.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9))
    >>> gates = torch.ones(2, 4, requires_grad=True)
    >>> with gated(model, gates):
    ...     model(input_ids=torch.tensor([[1, 2, 3]])).last_hidden_state[0, 0, 0].backward()
    >>> gates.grad.shape
    torch.Size([2, 4])
    """
    anatomy = read_anatomy(model)
    edits: dict[LayerKey, Edit] = {}
    if gates is None and units is None:
        raise InvalidOption("got no gates; expected gates of heads, of units (units=...), or of both")
    if gates is not None:
        for stack, tensor in check_gates(gates, anatomy.layout).items():
            for block in anatomy.stacks[stack]:
                edits[block.layer_key] = Gate(tensor[..., block.layer, list(block.heads)])
    if units is not None:
        anatomy.units.check()
        for stack, tensor in check_gates(units, anatomy.units).items():
            for feed_forward in anatomy.feed_forwards[stack]:
                edits[feed_forward.layer_key] = Gate(tensor[..., feed_forward.layer, list(feed_forward.units)])
    with session(plain_model(model), edits, purpose="the gates"):
        yield model


def check_gates(gates: Any, layout: Layout | UnitLayout) -> dict[str, Tensor]:
    """The gates as float tensors by stack; an error where a shape is wrong or a gate is not finite."""
    stacks, what = list(layout.stacks), "unit" if isinstance(layout, UnitLayout) else "head"
    if not isinstance(gates, Mapping):
        if len(stacks) > 1:
            raise InvalidOption(
                f"got one tensor of gates for a model with several stacks; expected a dict with some of {stacks}"
            )
        gates = {stacks[0]: gates}
    if not gates:
        raise InvalidOption(f"got an empty dict of gates; expected some of {stacks}")
    checked = {}
    for stack, stack_gates in gates.items():
        if stack not in layout.stacks:
            raise InvalidOption(f"got gates for the stack {stack!r}; the model has {', '.join(stacks)}")
        tensor = torch.as_tensor(stack_gates)
        shape = (layout.layers(stack), layout.width(stack))
        if tensor.ndim not in (2, 3) or tuple(tensor.shape[-2:]) != shape:
            raise InvalidOption(
                f"got gates of shape {list(tensor.shape)} for the {stack}; expected [layer, {what}] = {list(shape)}"
            )
        tensor = tensor if tensor.is_floating_point() else tensor.float()
        if not bool(torch.isfinite(tensor.detach()).all()):
            raise InvalidOption(f"got gates for the {stack} with NaN or infinity; expected finite numbers")
        checked[str(stack)] = tensor
    return checked
