"""Which device a name means here, or what to give instead."""

from __future__ import annotations

import torch

from headcount.errors import InvalidOption


def find_device(device: str) -> str:
    """The device that was named, if it is here; `auto` is a GPU where there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=torch.device(device))
    except (RuntimeError, AssertionError) as error:
        raise InvalidOption(f"got the device {device!r}, which is not here; {_instead(device)}") from error
    return device


def _instead(device: str) -> str:
    if device.partition(":")[0] != "cuda":
        return "expected cpu, cuda, cuda:1, mps or auto"
    count = torch.cuda.device_count()
    if not count:
        return "there is no GPU that torch can use: give device=cpu"
    there = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
    return f"torch finds {there} alone: give one of these, or device=cpu"
