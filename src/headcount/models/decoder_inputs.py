"""What the decoder of an encoder-decoder reads for a target text."""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from headcount.errors import ModelUnavailable
from headcount.models.families.registry import recorded_family


def decoder_inputs(model: PreTrainedModel, target: list[int]) -> list[int]:
    """The target shifted right behind the start token, as the model itself shifts its labels."""
    if recorded_family(model.config).starts_with_last:
        length = sum(token != model.config.pad_token_id for token in target)
        return [target[length - 1], *target[:-1]]
    start = getattr(model.config, "decoder_start_token_id", None)
    if start is None:
        raise ModelUnavailable(f"the config of {type(model).__name__} has no decoder_start_token_id; set it")
    if hasattr(model, "prepare_decoder_input_ids_from_labels"):
        shifted: list[int] = model.prepare_decoder_input_ids_from_labels(labels=torch.tensor([target]))[0].tolist()
        return shifted
    return [start, *target[:-1]]
