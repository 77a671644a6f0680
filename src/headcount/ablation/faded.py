"""A replacement by degrees: between a head's own output and what replaces it."""

from __future__ import annotations

import torch
from torch import Tensor

from headcount.trace.call import AttentionCall
from headcount.trace.edits import Edit


class Faded:
    """The share `strength` of another edit's change: 0 leaves the outputs as they are, 1 is the edit itself.

    With zeros in place of the outputs it is a gate of 1 - strength.
    """

    def __init__(self, edit: Edit, strength: float) -> None:
        self.edit, self.strength = edit, strength
        self.needs_call = edit.needs_call

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        return torch.lerp(outputs, self.edit(outputs, call), self.strength)

    def change_map(self, weights: Tensor, call: AttentionCall) -> Tensor:
        return torch.lerp(weights, self.edit.change_map(weights, call), self.strength)
