"""Models in two parts: the lower layers in memory, the upper ones on the disk, where accelerate keeps their weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

import headcount as hc
from headcount.models.load import load_model


def two_parts(model: Any, near: Any = "cpu", far: Any = "disk") -> dict[str, Any]:
    """A device for each part of the model: `far` for the upper half of each stack, `near` for the rest."""
    upper = {
        block.layer_name
        for layers in hc.read_anatomy(model).stacks.values()
        for block in layers
        if block.layer >= len(layers) // 2
    }
    parts: dict[str, Any] = {}

    def place(module: nn.Module, name: str) -> None:
        if name in upper:
            parts[name] = far
        elif any(layer.startswith(f"{name}.") or not name for layer in upper):
            for child, inner in module.named_children():
                place(inner, f"{name}.{child}".lstrip("."))
            own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
            parts.update({f"{name}.{tensor}".lstrip("."): near for tensor, _ in own})
        else:
            parts[name] = near

    place(model, "")
    return parts


def dispatched(model: Any, folder: Path) -> Any:
    """The model, saved and loaded in two parts."""
    model.save_pretrained(folder)
    return load_model(folder, device_map=two_parts(model), dtype=model.dtype)
