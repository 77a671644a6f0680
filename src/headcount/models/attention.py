"""The attention of one layer: its modules, its heads, and which rows and columns of weights belong to which head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headcount.models.dispatched import read_weight
from headcount.models.families.plan import Family, StackPlan
from headcount.models.plain_weights import is_plain, is_readable, weight_of, weight_shape
from headcount.models.shrink import SilentConv1D, SilentLinear, dim_of


@dataclass(frozen=True)
class WeightSlice:
    """The entries `start` to `stop` of a parameter along `dim` that belong to one head.

    `role` is query, key, value or output; `shape` is the shape of that part of the parameter.
    """

    role: str
    parameter: str
    dim: int
    start: int
    stop: int
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention of one layer: its module, its output projection, its heads.

    The output projection reads the outputs of all heads side by side: `heads[i]` has the columns `i * head_size` to
    `(i + 1) * head_size`.
    """

    family: Family
    plan: StackPlan
    stack: str
    layer: int
    name: str
    module: nn.Module
    layer_name: str
    layer_module: nn.Module
    output_name: str
    output: nn.Module
    heads: tuple[int, ...]
    head_size: int
    groups: tuple[int, ...]
    """For each of `heads`, the key/value group that it reads."""
    use: int = 0
    """Where one module serves several layers: which of its uses in a pass this layer is."""
    entry: nn.Module | None = None
    """The module whose call begins a pass, where uses must be counted."""

    @property
    def layer_key(self) -> tuple[str, int]:
        return self.stack, self.layer

    @property
    def count(self) -> int:
        return len(self.heads)

    @property
    def size(self) -> int:
        """Of what a head gives the output projection."""
        return self.head_size

    @property
    def kv_heads(self) -> int:
        return len(set(self.groups))

    @property
    def output_matrix(self) -> Tensor:
        """The output projection's weights [columns of the heads, width]."""
        matrix = read_weight(self.output)
        return matrix.T if dim_of(self.output, "in") else matrix

    @property
    def has_readable_output(self) -> bool:
        """Whether the output projection's weights can be read: those of some quantised models cannot."""
        weight = weight_of(self.output)
        return weight is not None and is_readable(weight)

    def column(self, head: int) -> int:
        """The index of a head among those that the layer has, which is its column among their outputs."""
        return self.heads.index(head)

    def projection(self, role: str) -> tuple[Any, str]:
        """The module that computes `query`, `key` or `value`, and its name in the model."""
        name = getattr(self.plan, role)
        return self.module.get_submodule(name), f"{self.name}.{name}"

    def slices(self, head: int) -> Iterator[WeightSlice]:
        """The rows of query, key and value and the columns of the output projection that belong to a head.

        The rows of a key/value group are listed for every head that reads the group. Where the family's projections
        are not known, only the columns are listed.
        """
        column = self.column(head)
        if self.plan.query is not None:
            rows = {"query": column, "key": self.groups[column], "value": self.groups[column]}
            for part, (role, row) in enumerate(rows.items()):
                if self.plan.fused == "by-part":
                    row += part * len(self.heads)
                elif self.plan.fused == "by-head":
                    row = 3 * row + part
                yield from self._rows(role, *self.projection(role), row)
        for name in self.plan.further:
            if getattr(self.module, name, None) is not None:
                yield from self._rows("query", self.module.get_submodule(name), f"{self.name}.{name}", column)
        dim = dim_of(self.output, "in")
        yield self._slice("output", f"{self.output_name}.weight", weight_shape(self.output), dim, column)

    def _rows(self, role: str, module: Any, name: str, row: int) -> Iterator[WeightSlice]:
        """A projection's weights and biases for its block number `row`."""
        yield self._slice(role, f"{name}.weight", weight_shape(module), dim_of(module, "out"), row)
        if module.bias is not None:
            yield self._slice(role, f"{name}.bias", module.bias.shape, 0, row)

    def _slice(self, role: str, name: str, whole: Sequence[int], dim: int, block: int) -> WeightSlice:
        shape = list(whole)
        shape[dim] = self.head_size
        return WeightSlice(role, name, dim, block * self.head_size, (block + 1) * self.head_size, tuple(shape))

    def parameters(self, head: int) -> int:
        """The number of parameters of a head; those of keys and values are divided among the readers of a group."""
        readers = self.groups.count(self.groups[self.column(head)])
        sizes = [(part.role, prod(part.shape)) for part in self.slices(head)]
        return round(sum(size / readers if role in ("key", "value") else size for role, size in sizes))


def is_projection(module: nn.Module) -> bool:
    """Whether the module is a plain product with a matrix, or what a cut made of one: not quantised, no adapter."""
    weight = weight_of(module)
    known = type(module) in (nn.Linear, Conv1D, SilentLinear, SilentConv1D)
    return known and weight is not None and is_plain(weight)
