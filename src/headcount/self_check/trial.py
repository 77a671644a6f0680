"""A model on trial: a small batch, its plain output, some heads, and what two outputs must have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.heads import Head, HeadSet
from headcount.errors import HeadcountError
from headcount.models.anatomy import Anatomy
from headcount.models.example_inputs import example_inputs
from headcount.models.shrink import dim_of
from headcount.pruning.verify import TOLERANCE
from headcount.trace.anatomy import read_anatomy
from headcount.trace.modes import evaluating
from headcount.trace.small_passes import real_output

SENSITIVE = 10
"""Two outputs that should be equal must be so many times nearer to each other than to the model with all its heads."""


class Failed(HeadcountError):
    """A promise that does not hold, and how that shows."""


class Skipped(HeadcountError):
    """A promise that could not be checked, and why."""


@dataclass(frozen=True)
class Trial:
    """A model, what is known of its heads, and a batch of random inputs with the model's output."""

    model: PreTrainedModel
    anatomy: Anatomy
    batch: dict[str, Tensor]
    plain: Tensor

    def run(self, model: Any = None) -> Tensor:
        """The output of this model, or of another one, at real positions."""
        other = self.model if model is None else model
        with torch.no_grad(), evaluating(other):
            return real_output(other(**self.batch), self.batch)

    def heads(self) -> HeadSet:
        """A head of the first, a middle and the last layer of each stack; one of all layers if these share weights."""
        layout = self.anatomy.layout
        chosen: set[Head] = set()
        for stack, layers in layout.stacks.items():
            numbers = [number for number, heads in enumerate(layers) if heads]
            if not numbers:
                continue
            if self.anatomy.family.shared:
                chosen |= {Head(stack, number, layers[number][0]) for number in numbers}
                continue
            for count, number in enumerate(dict.fromkeys((numbers[0], numbers[len(numbers) // 2], numbers[-1]))):
                chosen.add(Head(stack, number, layers[number][count % len(layers[number])]))
        return HeadSet(frozenset(chosen), layout)

    def compare(self, first: Tensor, second: Tensor, what: str) -> str:
        """What was found where two outputs without the same heads should be equal; an error where they are not."""
        difference, effect = _largest(first - second), _largest(first - self.plain)
        if effect == 0:
            raise Skipped(f"{self.heads()} make no difference to random inputs")
        middle = float(self.plain.double().abs().median())
        allowed = TOLERANCE.get(self.plain.dtype, 1e-4) * max(1.0, 10 * middle)
        if not difference <= allowed:
            raise Failed(f"{what} differ by {difference:.1e}, where rounding explains {allowed:.1e}")
        if difference > effect / SENSITIVE:
            dtype = str(self.plain.dtype).removeprefix("torch.")
            raise Skipped(f"{self.heads()} change the output by {effect:.1e} alone, which is rounding in {dtype}")
        return f"{what} differ by {difference:.1e}, the heads change the output by {effect:.1e}"

    @contextmanager
    def zero_columns(self) -> Iterator[None]:
        """The heads' columns of the output projections at zero inside the context; afterwards as before."""
        kept: list[tuple[Tensor, Tensor]] = []
        try:
            with torch.no_grad():
                for head in self.heads():
                    block = self.anatomy.attention(head.stack, head.layer)
                    start = block.column(head.head) * block.head_size
                    weight = torch.as_tensor(block.output.weight)
                    part = weight.narrow(dim_of(block.output, "in"), start, block.head_size)
                    kept.append((part, part.clone()))
                    part.zero_()
            yield
        finally:
            with torch.no_grad():
                for part, before in reversed(kept):
                    part.copy_(before)


def begin(model: PreTrainedModel) -> Trial:
    """Find the heads of the model and run it once."""
    anatomy, batch = read_anatomy(model), example_inputs(model)
    with torch.no_grad(), evaluating(model):
        plain = real_output(model(**batch), batch)
    return Trial(model, anatomy, batch, plain)


def _largest(difference: Tensor) -> float:
    return float(difference.double().abs().max()) if difference.numel() else 0.0
