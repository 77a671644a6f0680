"""Several variants of a model in one pass: the batch holds a copy of the examples for each variant, in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from headcount.trace.call import AttentionCall
from headcount.trace.edits import Edit, LayerKey, OutputEdit

Variant = Mapping[LayerKey, Edit]
"""What one variant changes, by layer."""


class Replacement(OutputEdit):
    """An edit that puts something else in the place of some heads of a layer.

    `everywhere` gives what would stand in the place of all heads, so that many variants of a layer, which differ
    only in their places, are made in one step.
    """

    needs_reference: ClassVar[bool] = False
    """Whether it needs the heads' mean outputs over a reference."""

    def __init__(self, places: list[int]) -> None:
        self.places = places

    @classmethod
    def make(cls, places: list[int], vectors: Tensor | None) -> Replacement:
        """The edit for these places; `vectors` [heads of the layer, size] where it needs a reference."""
        return cls(places)

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        """What all heads would give: broadcasts to `outputs` [B, Q, heads, size]."""
        raise NotImplementedError


class _Several(OutputEdit):
    """The edits of several variants for one layer; None for a variant that leaves it alone."""

    def __init__(self, edits: Sequence[Edit | None]) -> None:
        self.edits = edits
        self.needs_call = any(edit is not None and edit.needs_call for edit in edits)
        given = [edit for edit in edits if edit is not None]
        alike = isinstance(given[0], Replacement) and len({type(edit) for edit in given}) == 1
        self.replacement = given[0] if alike else None

    def replaced(self, heads: int, device: torch.device) -> Tensor:
        """Bool [variant, head]: whose output is replaced where."""
        places = tuple(tuple(edit.places) if isinstance(edit, Replacement) else () for edit in self.edits)
        return _replaced(places, heads, device)


@lru_cache(maxsize=4096)
def _replaced(places: tuple[tuple[int, ...], ...], heads: int, device: torch.device) -> Tensor:
    # Kept between passes: a copy to a GPU would make the program wait for it each time.
    with torch.inference_mode(False):
        return torch.tensor([[head in one for head in range(heads)] for one in places], device=device)


class EachVariant(_Several):
    """Applies to each variant's share of the batch that variant's own edit, if it has one for the layer."""

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        if isinstance(self.replacement, Replacement):
            mask = self.replaced(outputs.shape[2], outputs.device).repeat_interleave(len(outputs) // len(self.edits), 0)
            return torch.where(mask[:, None, :, None], self.replacement.everywhere(outputs, call), outputs)
        shares = list(outputs.chunk(len(self.edits)))
        for number, edit in enumerate(self.edits):
            if edit is not None:
                shares[number] = edit(shares[number], _share(call, number, len(self.edits)))
        return torch.cat(shares)


class FanOut(_Several):
    """From the untouched outputs [B, Q, heads, size] of one pass makes those of all variants [V, B, Q, heads, size]."""

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        if isinstance(self.replacement, Replacement):
            mask = self.replaced(outputs.shape[2], outputs.device)
            return torch.where(mask[:, None, None, :, None], self.replacement.everywhere(outputs, call), outputs)
        return torch.stack([outputs if edit is None else edit(outputs, call) for edit in self.edits])


def merge(variants: Sequence[Variant], start: LayerKey | None = None) -> dict[LayerKey, Edit]:
    """The variants as one set of edits; at `start` the pass fans out, elsewhere it is already as wide as they are."""
    keys = {key for variant in variants for key in variant}
    if start is not None:
        keys.add(start)
    return {key: (FanOut if key == start else EachVariant)([variant.get(key) for variant in variants]) for key in keys}


def tile(value: Any, size: int, times: int) -> Any:
    """The tensors with `size` rows repeated, inside tuples, lists and dicts too; all else as it is."""
    return _map(value, lambda one: one.repeat(times, *[1] * (one.ndim - 1)) if len(one) == size else one)


def untile(value: Any, size: int, times: int) -> Any:
    """The first share of the tensors with `size * times` rows."""
    return _map(value, lambda one: one[:size] if len(one) == size * times else one)


def _map(value: Any, change: Any) -> Any:
    if isinstance(value, Tensor):
        return change(value) if value.ndim else value
    if isinstance(value, tuple | list):
        return type(value)(_map(one, change) for one in value)
    if isinstance(value, dict):
        return {key: _map(one, change) for key, one in value.items()}
    return value


def _share(call: AttentionCall | None, number: int, times: int) -> AttentionCall | None:
    """The part of an attention call that belongs to one variant."""
    if call is None:
        return None
    rows = len(call.value) // times

    def cut(tensor: Any) -> Any:
        if isinstance(tensor, Tensor) and tensor.ndim and len(tensor) == rows * times and times > 1:
            return tensor[number * rows : (number + 1) * rows]
        return tensor

    return replace(
        call,
        value=cut(call.value),
        mask=cut(call.mask),
        query=cut(call.query),
        key=cut(call.key),
        options={name: cut(option) for name, option in call.options.items()},
    )
