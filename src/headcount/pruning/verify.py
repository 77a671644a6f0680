"""Does a pruned model compute what the whole one does with the same heads at zero? Asked on a batch after every cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.errors import NotFinite, PruneMismatch
from headcount.trace.modes import evaluating

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Of ten times the middle of the outputs' sizes: kernels add in another order where there are fewer heads."""
OUTPUTS = ("logits", "last_hidden_state", "start_logits", "prediction_logits")
"""The names that models give their first output."""


@dataclass(frozen=True)
class Check:
    """How far the outputs of the pruned model are from those of the gated one, at most.

    `middle` is the median of the outputs' sizes: Marian gives its padding token -1e9, which says nothing.
    """

    difference: float
    middle: float
    tolerance: float

    @property
    def passed(self) -> bool:
        return self.difference <= self.tolerance * max(1.0, 10 * self.middle)

    def __str__(self) -> str:
        return f"pruned and gated outputs differ by at most {self.difference:.1e} (half are above {self.middle:.2g})"


def check_outputs(gated: Tensor, pruned: Tensor) -> Check:
    """The check of two outputs; a mismatch is an error."""
    if bool((gated.isnan() | (gated == float("inf"))).any()):
        dtype = str(gated.dtype).removeprefix("torch.")
        raise NotFinite(
            f"the model's outputs are not finite in {dtype}, so that a cut cannot be checked; nothing was changed; "
            "give dtype=float32, or a checkpoint that works"
        )
    before, after = gated.double(), pruned.double()
    difference = float((before - after).abs().max()) if before.numel() else 0.0
    check = Check(difference, float(before.abs().median()) if before.numel() else 0.0, TOLERANCE.get(gated.dtype, 1e-4))
    if not check.passed:
        raise PruneMismatch(f"{check}: more than rounding; nothing was changed; please report the model's type")
    return check


@torch.no_grad()
def outputs_of(model: PreTrainedModel, batch: Mapping[str, Tensor]) -> Tensor:
    """The model's logits, or its last hidden state, at real positions."""
    with evaluating(model):
        outputs = model(**batch)
    first: Tensor = next(outputs[key] for key in OUTPUTS if key in outputs)
    mask = batch.get("attention_mask")
    if mask is not None and "decoder_input_ids" not in batch and first.shape[: mask.ndim] == mask.shape:
        return first[mask.bool()]
    return first
