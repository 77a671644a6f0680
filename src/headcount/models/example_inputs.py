"""Small batches of random inputs that a model takes: for checks that need a forward pass and no data."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.models.dispatched import input_device
from headcount.models.longest import longest_positions
from headcount.models.task_heads import is_classifier, is_multiple_choice

LENGTH, ROWS, SAMPLES = 12, 2, 4000


def example_inputs(model: PreTrainedModel, seed: int = 0, padded: int | None = None) -> dict[str, Tensor]:
    """Random tokens, images or sounds on the model's device.

    Of a text's tokens the last half, or the last `padded`, are padding in all rows but the first.
    """
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    if model.main_input_name == "pixel_values":
        return random_images(model, ROWS, generator)
    if model.main_input_name in ("input_values", "input_features"):
        return _sounds(model, generator)
    longest = min(LENGTH, longest_positions(model) or LENGTH)
    padding = getattr(config, "pad_token_id", None)
    # Without a padding token a classifier cannot find the end of a padded text.
    rows = 1 if padding is None and is_classifier(model) else ROWS

    mask = torch.ones(rows, longest, dtype=torch.long)
    mask[1:, longest // 2 if padded is None else longest - padded :] = 0
    words = _tokens(model, rows, longest, generator).masked_fill(mask == 0, padding or 0)
    batch = {"input_ids": words, "attention_mask": mask}
    if getattr(config, "is_encoder_decoder", False):
        if is_classifier(model):
            words[:, longest // 2 - 1] = config.eos_token_id
        else:
            batch["decoder_input_ids"] = _tokens(model, rows, longest // 2, generator)
    if hasattr(config, "vision_config"):
        batch["pixel_values"] = random_images(model, rows, generator)["pixel_values"]
    if is_multiple_choice(model):
        batch = {key: tensor[:, None].repeat(1, 2, 1) for key, tensor in batch.items()}
    return {key: tensor.to(input_device(model)) for key, tensor in batch.items()}


def _tokens(model: PreTrainedModel, rows: int, length: int, generator: torch.Generator) -> Tensor:
    return torch.randint(3, max(4, model.config.get_text_config().vocab_size), (rows, length), generator=generator)


def _sounds(model: PreTrainedModel, generator: torch.Generator) -> dict[str, Tensor]:
    """Waveforms, or spectrograms with as many frames as the encoder has positions for."""
    config: Any = model.config
    if model.main_input_name == "input_values":
        sounds = torch.randn(ROWS, SAMPLES, generator=generator)
    else:
        sounds = torch.randn(ROWS, config.num_mel_bins, 2 * config.max_source_positions, generator=generator)
    batch = {model.main_input_name: sounds.to(input_device(model), model.dtype)}
    if "decoder_input_ids" in inspect.signature(model.forward).parameters:
        batch["decoder_input_ids"] = _tokens(model, ROWS, LENGTH // 2, generator).to(input_device(model))
    return batch


def random_images(model: PreTrainedModel, rows: int, generator: torch.Generator) -> dict[str, Tensor]:
    """Images of the size that a vision model takes, on its device and in its dtype."""
    config: Any = getattr(model.config, "vision_config", model.config)
    size = config.image_size
    sides = size if isinstance(size, list | tuple) else (size, size)
    images = torch.randn(rows, getattr(config, "num_channels", 3), *sides, generator=generator)
    return {"pixel_values": images.to(input_device(model), model.dtype)}
