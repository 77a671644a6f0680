"""Prove which output projection reads the outputs of each attention, and that each head has its own columns there."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from headcount.errors import UnknownFamily
from headcount.models.anatomy import Anatomy
from headcount.models.attention import Attention, is_projection
from headcount.trace.hooks import hooked
from headcount.trace.interception import InterfaceCall, intercepted
from headcount.trace.kernel_proof import apart
from headcount.trace.session import session
from headcount.trace.small_passes import Inputs, SmallPasses, step
from headcount.trace.variants import Zero


def find_projections(passes: SmallPasses, batch: Inputs, seed: int) -> dict[nn.Module, str]:
    """For each attention module the name of the projection whose input is the outputs of its heads, side by side."""
    generator = torch.Generator().manual_seed(seed)
    planted: dict[nn.Module, Tensor] = {}
    readers: dict[nn.Module, list[str]] = {}

    def answer(call: InterfaceCall) -> Tensor:
        numbers = torch.randn(call.output.shape, generator=generator, dtype=torch.float64).to(call.output)
        planted[call.module], readers[call.module] = numbers, []
        return numbers

    def look(module: nn.Module, args: tuple[Any, ...]) -> None:
        for attention, numbers in planted.items():
            if args and isinstance(args[0], Tensor) and torch.equal(args[0], numbers.flatten(2)):
                readers[attention].append(passes.names[module])

    linear = [module for module in passes.names if is_projection(module)]
    with step("projection"), intercepted(passes.model, answer), hooked(linear, before=look):
        passes.run(batch)
    for attention, names in readers.items():
        if len(names) != 1:
            which = "no projection" if not names else ", ".join(names)
            raise UnknownFamily(f"projection: {which} reads the outputs of {passes.names[attention]} as they are")
    return {attention: names[0] for attention, names in readers.items()}


def prove_zero(passes: SmallPasses, anatomy: Anatomy, batch: Inputs) -> None:
    """Zeros at the source and at the projection give the same, for half of the heads of every layer at a time."""
    plain = passes.layers(anatomy, batch)
    for half in (0, 1):
        removed = {block.module: [head for head in block.heads if head % 2 == half] for block in anatomy}

        def answer(call: InterfaceCall, removed: dict[nn.Module, list[int]] = removed) -> Tensor:
            return Zero(removed[call.module])(call.output, None)

        with step("zero"), intercepted(passes.model, answer):
            source = passes.layers(anatomy, batch)
        edits = {block.layer_key: Zero(removed[block.module]) for block in anatomy if removed[block.module]}
        with step("zero"), session(passes.model, edits, purpose="the proof"):
            ours = passes.layers(anatomy, batch)
        for name in plain:
            if apart(ours[name], source[name]) > passes.tolerance:
                raise UnknownFamily(f"zero: something beside its output projection reads the heads of {name}")
            if apart(ours[name], plain[name]) <= 100 * passes.tolerance:
                raise UnknownFamily(f"zero: {name} gives the same without its heads")
        for block in anatomy:
            _prove_columns(block, removed[block.module], passes.tolerance)


def _prove_columns(block: Attention, heads: list[int], tolerance: float) -> None:
    """The projection with zero columns gives what it gives for an input with zeros there."""
    zeroed = replace(block, output=copy.deepcopy(block.output))
    matrix = block.output_matrix
    states = torch.randn(2, 3, len(matrix), generator=torch.Generator().manual_seed(0)).to(matrix)
    without = states.clone()
    for head in heads:
        columns = slice(head * block.head_size, (head + 1) * block.head_size)
        without[..., columns] = 0
        zeroed.output_matrix[columns] = 0
    if apart(block.output(without), zeroed.output(states)) > tolerance:
        raise UnknownFamily(f"zero: zero columns of {block.output_name} give something else")
