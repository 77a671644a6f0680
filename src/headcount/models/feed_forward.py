"""The feed-forward block of one layer: its projections, its units, and which rows and columns belong to which unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headcount.core.units import SUFFIX
from headcount.models.dispatched import read_weight
from headcount.models.families.plan import FeedForwardPlan
from headcount.models.plain_weights import projection_width
from headcount.models.shrink import dim_of, read_ranges


@dataclass(frozen=True, eq=False)
class FeedForward:
    """The feed-forward block of one layer: the projections into its units and out of them.

    The output projection reads the units side by side, as that of the attention reads heads: `units[i]` is its column
    number i.
    """

    plan: FeedForwardPlan
    stack: str
    layer: int
    layer_module: nn.Module
    inputs: tuple[tuple[str, nn.Module], ...]
    """The projections into the units, with their names in the model."""
    output_name: str
    output: nn.Module
    units: tuple[int, ...]
    use: int = 0
    """Where one module serves several layers: which of its uses in a pass this layer is."""
    entry: nn.Module | None = None
    """The module whose call begins a pass, where uses must be counted."""
    size: int = 1
    """Of what a unit gives the output projection: one number."""

    @property
    def layer_key(self) -> tuple[str, int]:
        """The key of the block in a session: the attention of the layer has the plain name of the stack."""
        return f"{self.stack}{SUFFIX}", self.layer

    @property
    def count(self) -> int:
        return len(self.units)

    @property
    def output_matrix(self) -> Tensor:
        """The output projection's weights [unit, width]."""
        matrix = read_weight(self.output)
        return matrix.T if dim_of(self.output, "in") else matrix

    def columns(self, units: tuple[int, ...]) -> list[int]:
        """The indices of units among those that the layer has."""
        index = {unit: column for column, unit in enumerate(self.units)}
        return [index[unit] for unit in units]

    @property
    def parameters_per_unit(self) -> int:
        """The number of parameters that go with a unit."""
        rows = sum(
            self.plan.halves * (projection_width(module, "in") + (getattr(module, "bias", None) is not None))
            for _, module in self.inputs
        )
        return rows + projection_width(self.output, "out")


def read_feed_forward(
    plan: FeedForwardPlan, stack: str, number: int, layer: str, modules: dict[str, nn.Module], config: Any
) -> FeedForward | None:
    """The block of a layer by its plan; None where the layer has other modules, such as a mixture of experts."""
    inputs = tuple(
        (f"{layer}.{name}", modules[f"{layer}.{name}"]) for name in plan.inputs if f"{layer}.{name}" in modules
    )
    output = modules.get(f"{layer}.{plan.output}")
    if (
        output is None
        or not inputs
        or not all(hasattr(module, "weight") for module in (output, *dict(inputs).values()))
    ):
        return None
    count = projection_width(output, "in")
    recorded = _recorded_units(config, stack, number)
    kept: Any = getattr(output, "kept_units", None)
    if kept is not None:
        units = tuple(kept)
    elif any(projection_width(module, "out") != plan.halves * count for _, module in inputs):
        return None
    else:
        # transformers may have loaded a folder whose config says the number of units, and the record which they are.
        units = recorded if recorded is not None and len(recorded) == count else tuple(range(count))
    return FeedForward(plan, stack, number, modules[layer], inputs, f"{layer}.{plan.output}", output, units)


def _recorded_units(config: Any, stack: str, layer: int) -> tuple[int, ...] | None:
    """The units of a layer that were not cut, by the record of the cut in the config."""
    for recorded in (getattr(config, "headcount", None) or {}).get("stacks", ()):
        kept = recorded.get("kept_units", ())
        if recorded["stack"] == stack and layer < len(kept):
            return tuple(read_ranges(kept[layer]))
    return None
