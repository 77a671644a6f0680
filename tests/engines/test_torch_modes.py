"""Are the settings of torch the same in another thread, and back afterwards?"""

from __future__ import annotations

import threading

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from headcount.engines.torch_modes import TorchModes


def in_a_thread(modes: TorchModes) -> list[TorchModes]:
    """Before, within and after."""
    seen: list[TorchModes] = []

    def look() -> None:
        seen.append(TorchModes.here())
        with modes.applied():
            seen.append(TorchModes.here())
        seen.append(TorchModes.here())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return seen


def test_gradients_inference_and_kernels() -> None:
    for context in (torch.no_grad(), torch.inference_mode(), sdpa_kernel(SDPBackend.MATH), torch.autocast("cpu")):
        with context:
            modes = TorchModes.here()
        before, within, after = in_a_thread(modes)
        assert within == modes
        assert before == after


def test_gradients_where_there_were_none() -> None:
    modes = TorchModes.here()
    with torch.no_grad(), modes.applied():
        assert torch.is_grad_enabled()
    assert modes.gradients
