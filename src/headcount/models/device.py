"""The device that an option names, checked."""

from __future__ import annotations

import torch

from headcount.errors import InvalidOption


def find_device(device: str) -> str:
    """The named device, or an error where it is not available; `auto` is a GPU where there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=torch.device(device))
    except (RuntimeError, AssertionError) as error:
        raise InvalidOption(f"got the device {device!r}, which is not here; {_remedy(device)}") from error
    return device


def _remedy(device: str) -> str:
    if device.partition(":")[0] != "cuda":
        return "expected cpu, cuda, cuda:1, mps or auto"
    count = torch.cuda.device_count()
    if not count:
        return "there is no GPU that torch can use: give device=cpu"
    available = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
    return f"torch finds {available} alone: give one of these, or device=cpu"
