"""Whether what heads write is added to what the logits are read from: proved on a small pass, layer by layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import UnsuitableModel
from headcount.models.anatomy import Anatomy
from headcount.models.attention import Attention
from headcount.models.dispatched import input_device
from headcount.models.example_inputs import example_inputs
from headcount.models.unembedding import FinalNorm, Unembedding, norm_candidates
from headcount.trace.hooks import hooked
from headcount.trace.small_passes import first_output

ROUNDINGS = 16
"""How many roundings of the dtype two ways to the same state may differ by, relative to its parts."""
Calls = dict[nn.Module, tuple[Tensor, Tensor]]
"""By module, what it was given and what it gave."""


def prove_unembedding(model: PreTrainedModel, anatomy: Anatomy) -> Unembedding:
    """The way from the residual stream to the logits; `UnsuitableModel` where heads do not reach them directly.

    Shown by a small pass: each layer gives its input plus what its attention writes plus what one more part of it
    gives; the next layer takes that as it is; the last state goes through a norm of a known formula to the output
    embedding, which gives the logits.
    """
    name = type(model).__name__
    embedding: Any = model.get_output_embeddings()
    if tuple(anatomy.stacks) != ("decoder",) or not isinstance(embedding, nn.Linear):
        raise UnsuitableModel(f"only decoders with an output embedding have direct effects on logits, not {name}")
    calls, logits = _record(model)
    if embedding not in calls or not _same(calls[embedding][1], logits):
        raise UnsuitableModel(f"the logits of {name} are not the plain outputs of its output embedding")
    norm = _find_norm(calls, calls[embedding][0])
    if norm is None:
        raise UnsuitableModel(f"{name} has no norm of a known formula before its output embedding")
    state: Tensor | None = None
    for block in anatomy.stacks["decoder"]:
        if block.layer_module not in calls or block.output not in calls:
            raise UnsuitableModel(f"{block.layer_name} of {name} was not called with a state")
        given, output = calls[block.layer_module]
        if (state is not None and not _same(given, state)) or not _adds(block, calls):
            raise UnsuitableModel(
                f"{block.layer_name} of {name} does not add what its heads write to the state as it is"
            )
        state = output
    if state is None or not _same(calls[norm.module][0], state):
        raise UnsuitableModel(f"the last state of {name} is changed before its final norm")
    return Unembedding(norm, embedding)


@torch.no_grad()
def _record(model: PreTrainedModel) -> tuple[Calls, Tensor]:
    calls: Calls = {}
    device = input_device(model)  # layers may run on others

    def keep(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        given = args[0] if args else None
        output = output[0] if isinstance(output, tuple | list) and output else output
        if isinstance(given, Tensor) and isinstance(output, Tensor):
            calls[module] = given.to(device), output.to(device)

    batch = {name: tensor[:1] for name, tensor in example_inputs(model).items()}
    with hooked(model.modules(), after=keep):
        logits = first_output(model(**batch, use_cache=False))
    return calls, logits


def _find_norm(calls: Calls, state: Tensor) -> FinalNorm | None:
    """The norm that gave the state; of several formulas that half precision cannot tell apart, the nearest."""
    nearest: list[tuple[float, FinalNorm]] = []
    for module, (given, output) in calls.items():
        if output.shape == state.shape and torch.equal(output, state):
            nearest += [
                (float((norm(given) - output).norm()), norm)
                for norm in norm_candidates(module)
                if _same(norm(given), output)
            ]
    return min(nearest, key=lambda pair: pair[0])[1] if nearest else None


def _adds(block: Attention, calls: Calls) -> bool:
    """Whether the layer gives its input, what its attention writes and what one more of its modules gives."""
    given, output = calls[block.layer_module]
    written = calls[block.output][1]
    if written.shape != output.shape:
        return False
    parts = [calls[module][1] for module in block.layer_module.modules() if module in calls]
    # Some layers flatten the batch for their feed-forward part.
    further = [
        part.reshape(output.shape)
        for part in parts
        if part.shape[-1] == output.shape[-1] and part.numel() == output.numel()
    ]
    nothing = torch.zeros_like(given)
    return any(_same(given + written + part, output, given, written, part) for part in [nothing, *further])


def _same(one: Tensor, other: Tensor, *parts: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    largest = max(part.double().norm() for part in (other, *parts))
    # The norms of many families compute in float32 whatever the model's dtype.
    eps = max(torch.finfo(dtype).eps for dtype in (torch.float32, one.dtype, other.dtype))
    return bool((one.double() - other.double()).norm() <= ROUNDINGS * eps * largest)
