"""Several variants of a model in one pass, over a batch that holds the examples once for each variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from headcount.trace.call import AttentionCall
from headcount.trace.edits import Edit, LayerKey, OutputEdit

Variant = Mapping[LayerKey, Edit]
"""The edits of one variant, by layer."""


class Replacement(OutputEdit):
    """An edit that replaces the outputs of some heads of a layer, which `columns` names by their index in the layer.

    `everywhere` gives the replacement for all heads, so that many variants of a layer, which differ only in their
    columns, are made in one step. A class may override `__call__` where some heads are cheaper than all.
    """

    needs_reference: ClassVar[bool] = False
    """Whether it needs `means`, the mean outputs [heads of the layer, size] over a reference."""

    where: Tensor | None = None
    """Bool [example, position]: where the outputs are replaced; None for all positions."""

    def __init__(self, columns: list[int], means: Tensor | None = None) -> None:
        self.columns, self.means = columns, means

    def is_like(self, other: Edit) -> bool:
        """Whether `everywhere` of the other edit gives the same."""
        return type(self) is type(other)

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        """The replacement for all heads: broadcasts to `outputs` [B, Q, heads, size]."""
        raise NotImplementedError

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        replacement = self.everywhere(outputs, call)
        if replacement.ndim > 1 and replacement.shape[-2] > 1:  # not the same for all heads
            replacement = replacement[..., self.columns, :]
        if self.where is not None:
            mask = _positions(self.where, outputs)[:, :, None, None]
            replacement = torch.where(mask, replacement, outputs[:, :, self.columns])
        edited = outputs.clone()
        edited[:, :, self.columns] = replacement
        return edited


class Zero(Replacement):
    """Zeros (Michel et al. 2019): the same as zero columns in the output projection."""

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        return outputs.new_zeros(())


class _Several(OutputEdit):
    """The edits of several variants for one layer; None for a variant that leaves it alone."""

    def __init__(self, edits: Sequence[Edit | None]) -> None:
        self.edits = edits
        self.needs_call = any(edit is not None and edit.needs_call for edit in edits)
        first, *others = [edit for edit in edits if edit is not None]
        alike = isinstance(first, Replacement) and all(first.is_like(edit) for edit in others)
        self.replacement = first if alike and isinstance(first, Replacement) else None

    def replaced(self, outputs: Tensor, examples: int) -> Tensor:
        """Bool [variant, example or 1, position or 1, head, 1]: which outputs are replaced in which variant."""
        columns = tuple(tuple(edit.columns) if isinstance(edit, Replacement) else () for edit in self.edits)
        heads = _replaced(columns, outputs.shape[2], outputs.device)[:, None, None, :, None]
        where = [edit.where if isinstance(edit, Replacement) else None for edit in self.edits]
        if all(mask is None for mask in where):
            return heads
        size = (examples, outputs.shape[1])
        masks = [
            outputs.new_ones(size, dtype=torch.bool) if mask is None else _positions(mask, outputs, examples)
            for mask in where
        ]
        return heads & torch.stack(masks)[:, :, :, None, None]


@lru_cache(maxsize=4096)
def _replaced(columns: tuple[tuple[int, ...], ...], heads: int, device: torch.device) -> Tensor:
    # Kept between passes: a copy to a GPU would make the program wait for it each time.
    with torch.inference_mode(False):
        return torch.tensor([[head in variant for head in range(heads)] for variant in columns], device=device)


def _positions(where: Tensor, outputs: Tensor, examples: int | None = None) -> Tensor:
    """`where` for the rows of these outputs, which may hold the examples several times or the first position alone."""
    times = (len(outputs) if examples is None else examples) // len(where)
    return where[:, : outputs.shape[1]].repeat(times, 1).to(outputs.device)


class EachVariant(_Several):
    """Applies each variant's edit, if it has one for the layer, to its share of the batch."""

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        if self.replacement is not None:
            examples = len(outputs) // len(self.edits)
            mask = self.replaced(outputs, examples).expand(-1, examples, -1, -1, -1).flatten(0, 1)
            return torch.where(mask, self.replacement.everywhere(outputs, call), outputs)
        shares = list(outputs.chunk(len(self.edits)))
        for number, edit in enumerate(self.edits):
            if edit is not None:
                shares[number] = edit(shares[number], _share(call, number, len(self.edits)))
        return torch.cat(shares)


class FanOut(_Several):
    """Makes the outputs of all variants [V, B, Q, heads, size] from the unedited ones [B, Q, heads, size]."""

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        if self.replacement is not None:
            mask = self.replaced(outputs, len(outputs))
            return torch.where(mask, self.replacement.everywhere(outputs, call), outputs)
        return torch.stack([outputs if edit is None else edit(outputs, call) for edit in self.edits])


def merge(variants: Sequence[Variant], start: LayerKey | None = None) -> dict[LayerKey, Edit]:
    """The edits of a pass over all variants; at `start` it fans out, in other layers the batch holds them already."""
    keys = {key for variant in variants for key in variant}
    if start is not None:
        keys.add(start)
    return {key: (FanOut if key == start else EachVariant)([variant.get(key) for variant in variants]) for key in keys}


def tile(value: Any, size: int, times: int) -> Any:
    """Repeat the tensors with `size` rows, inside tuples, lists and dicts too; all else is unchanged."""
    return _map(value, lambda tensor: tensor.repeat(times, *[1] * (tensor.ndim - 1)) if len(tensor) == size else tensor)


def untile(value: Any, size: int, times: int) -> Any:
    """The first share of the tensors with `size * times` rows."""
    return _map(value, lambda tensor: tensor[:size] if len(tensor) == size * times else tensor)


def split(value: Any, size: int, times: int) -> list[Any]:
    """The share of each variant of the tensors with `size * times` rows."""

    def share(number: int) -> Any:
        rows = slice(number * size, (number + 1) * size)
        return _map(value, lambda tensor: tensor[rows] if len(tensor) == size * times else tensor)

    return [share(number) for number in range(times)]


def join(values: Sequence[Any], size: int) -> Any:
    """The tensors with `size` rows of several values alike, one after the other; all else is that of the first."""
    first = values[0]
    if isinstance(first, Tensor):
        return torch.cat(list(values)) if first.ndim and len(first) == size else first
    if isinstance(first, tuple | list):
        return type(first)(join(items, size) for items in zip(*values, strict=True))
    if isinstance(first, dict):
        return {key: join([value[key] for value in values], size) for key in first}
    return first


def _map(value: Any, change: Any) -> Any:
    if isinstance(value, Tensor):
        return change(value) if value.ndim else value
    if isinstance(value, tuple | list):
        return type(value)(_map(item, change) for item in value)
    if isinstance(value, dict):
        return {key: _map(item, change) for key, item in value.items()}
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

    return call.with_tensors(cut)
