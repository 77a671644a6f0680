"""Does a pruned model compute what the whole one does with the same heads at zero? Asked on a batch after every cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.errors import NotFinite, PruneMismatch
from headcount.models.longest import longest_positions
from headcount.models.task_heads import is_classifier, is_multiple_choice
from headcount.trace.modes import evaluating

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Of ten times the middle of the outputs' sizes: kernels add in another order where there are fewer heads."""
LENGTH, ROWS = 12, 2
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
            "give --dtype float32, or a checkpoint that works"
        )
    before, after = gated.double(), pruned.double()
    difference = float((before - after).abs().max()) if before.numel() else 0.0
    found = Check(difference, float(before.abs().median()) if before.numel() else 0.0, TOLERANCE.get(gated.dtype, 1e-4))
    if not found.passed:
        raise PruneMismatch(f"{found}: more than rounding; nothing was changed; please report the model's type")
    return found


@torch.no_grad()
def outputs_of(model: PreTrainedModel, batch: Mapping[str, Tensor]) -> Tensor:
    """The model's logits, or its last hidden state, at real positions."""
    with evaluating(model):
        found = model(**batch)
    first: Tensor = next(found[key] for key in OUTPUTS if key in found)
    mask = batch.get("attention_mask")
    if mask is not None and "decoder_input_ids" not in batch and first.shape[: mask.ndim] == mask.shape:
        return first[mask.bool()]
    return first


def example_batch(model: PreTrainedModel, seed: int = 0) -> dict[str, Tensor]:
    """A small batch of random tokens, the second row padded, or random images, on the model's device."""
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    if model.main_input_name == "pixel_values":
        return random_images(model, ROWS, generator)
    longest = min(LENGTH, longest_positions(model) or LENGTH)
    padding = getattr(config, "pad_token_id", None)
    # Without a padding token a classifier cannot find the end of a padded text.
    rows = 1 if padding is None and is_classifier(model) else ROWS

    def ids(length: int) -> Tensor:
        return torch.randint(3, max(4, config.vocab_size), (rows, length), generator=generator)

    mask = torch.ones(rows, longest, dtype=torch.long)
    mask[1:, longest // 2 :] = 0
    words = ids(longest).masked_fill(mask == 0, padding or 0)
    batch = {"input_ids": words, "attention_mask": mask}
    if getattr(config, "is_encoder_decoder", False):
        if is_classifier(model):
            words[:, longest // 2 - 1] = config.eos_token_id
        else:
            batch["decoder_input_ids"] = ids(longest // 2)
    if is_multiple_choice(model):
        batch = {key: tensor[:, None].repeat(1, 2, 1) for key, tensor in batch.items()}
    return {key: tensor.to(model.device) for key, tensor in batch.items()}


def random_images(model: PreTrainedModel, rows: int, generator: torch.Generator) -> dict[str, Tensor]:
    """Images of the size that a vision model takes, on its device and in its number type."""
    size: Any = model.config.image_size
    sides = size if isinstance(size, list | tuple) else (size, size)
    images = torch.randn(rows, getattr(model.config, "num_channels", 3), *sides, generator=generator)
    return {"pixel_values": images.to(model.device, model.dtype)}
