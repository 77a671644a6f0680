"""Settings of torch that hold for a process or a thread, so that work runs elsewhere as it would run here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

KERNELS = ("flash_sdp", "mem_efficient_sdp", "math_sdp", "cudnn_sdp")
"""Of attention, as torch.backends.cuda switches them for all devices."""


@dataclass(frozen=True)
class TorchModes:
    """Gradients, inference mode, attention kernels and autocast."""

    gradients: bool
    inference: bool
    kernels: tuple[bool, ...]
    autocast: tuple[tuple[str, Any], ...]
    """Devices with autocast, and its dtypes."""

    @classmethod
    def here(cls) -> TorchModes:
        """As they are now, in this thread."""
        import torch

        on = [device for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)]
        return cls(
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            tuple(getattr(torch.backends.cuda, f"{kernel}_enabled")() for kernel in KERNELS),
            tuple((device, torch.get_autocast_dtype(device)) for device in on),
        )

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The same settings in this process, for a while."""
        import torch

        before = TorchModes.here().kernels
        with ExitStack() as stack:
            stack.enter_context(torch.inference_mode(self.inference))
            stack.enter_context(torch.set_grad_enabled(self.gradients))
            for device, dtype in self.autocast:
                stack.enter_context(torch.autocast(device, dtype))
            stack.callback(_enable, before)
            _enable(self.kernels)
            yield


def _enable(kernels: tuple[bool, ...]) -> None:
    import torch

    for kernel, on in zip(KERNELS, kernels, strict=True):
        getattr(torch.backends.cuda, f"enable_{kernel}")(on)
