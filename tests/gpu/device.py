"""The device of these tests, its attention kernels, and how close two outputs must be in each dtype."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.contracts.zoo import BY_NAME, Case, inputs, run, tiny

DEVICE = torch.device(os.environ.get("HEADCOUNT_TEST_DEVICE") or "cuda")
"""`HEADCOUNT_TEST_DEVICE=cpu` rehearses on a CPU whatever does not need a GPU."""
ON_GPU = DEVICE.type == "cuda"
GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(ON_GPU and not torch.cuda.is_available(), reason="no CUDA device on this machine"),
    # Kernels and compilers warn about what they did not choose: no error here, unlike in all other tests.
    pytest.mark.filterwarnings("default"),
]
"""The marks of every test in this folder."""
CUDA_ONLY = pytest.mark.skipif(not ON_GPU, reason="needs the memory allocator of a CUDA device")

Record = Callable[[str, object], None]
"""pytest's `record_property`: numbers worth reading, in the file of `--junitxml`."""

BACKENDS = {
    "math": SDPBackend.MATH,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
"""What `sdpa` can be made to run on; `sdpa` itself leaves the choice to PyTorch."""
MISSING_KERNEL = ("No available kernel", "cuDNN", "No viable backend")
"""What PyTorch says where a backend does not take these inputs."""

EPSILON = {torch.float32: 1e-6, torch.bfloat16: 8e-3}
"""One rounding: two passes with the same sums in the same order."""
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.1}
"""Three layers of rounding: sums in another order. Both are shares of the reference's largest value."""

NAMES = ("bert", "modernbert", "gpt2", "llama", "t5", "bart", "vit", "mpnet", "deberta-v2")
"""A family of each kind: windows, causal, grouped heads, position biases, two sides, images, attention of its own."""
DTYPES = (torch.float32, torch.bfloat16)


def combinations() -> list[tuple[str, str, torch.dtype, str]]:
    """Family, kernel, dtype, padding; flash and cuDNN take neither float32 nor a mask."""
    found = []
    for name in NAMES:
        case = BY_NAME[name]
        kernels = ("eager", "sdpa", *BACKENDS) if "sdpa" in case.kernels else ("eager",)
        padding = {"vision": "none", "decoder": "left"}.get(case.kind, "right")
        for kernel in kernels:
            if kernel in ("flash", "cudnn"):
                found.append((name, kernel, torch.bfloat16, "none"))
            else:
                found += [(name, kernel, dtype, padding) for dtype in DTYPES]
    return found


def spelled(value: Any) -> str:
    return str(value).removeprefix("torch.")


EVERY = pytest.mark.parametrize(("name", "kernel", "dtype", "padding"), combinations(), ids=spelled)
DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=spelled)


def implementation(kernel: str) -> str:
    """The name that transformers has for a kernel."""
    return kernel if kernel == "eager" else "sdpa"


def using(kernel: str) -> AbstractContextManager[None]:
    """The kernel alone, where it is one of sdpa's backends."""
    return sdpa_kernel(BACKENDS[kernel]) if kernel in BACKENDS else nullcontext()


def on_device(name: str, kernel: str = "sdpa", dtype: torch.dtype = torch.float32, head: str = "AutoModel") -> Any:
    """The zoo's tiny model of a family on the device."""
    return tiny(name, implementation(kernel), head).to(DEVICE, dtype)


def batch_for(case: Case, padding: str = "none", dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """The zoo's batch on the device; images in the model's dtype."""
    return to_device(inputs(case, "none" if case.kind == "vision" else padding), dtype)


def to_device(batch: Mapping[str, Tensor], dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    return {key: value.to(DEVICE, dtype if value.is_floating_point() else None) for key, value in batch.items()}


def run_plain(model: Any, batch: dict[str, Tensor], kernel: str) -> Tensor:
    """The untouched model's output; where a kernel has none, the test is skipped and says so."""
    try:
        with using(kernel):
            plain = run(model, batch)
    except RuntimeError as error:
        if kernel not in BACKENDS or not any(words in str(error) for words in MISSING_KERNEL):
            raise
        pytest.skip(f"the {kernel} kernel does not take {type(model).__name__} in {model.dtype} here")
    if not bool(torch.isfinite(plain).all()):
        pytest.skip(f"the untouched {type(model).__name__} in {model.dtype} gives NaN on the {kernel} kernel")
    return plain


def largest_share(found: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest value that was expected."""
    found, expected = found.detach().double().cpu(), expected.detach().double().cpu()
    assert found.shape == expected.shape
    assert bool(torch.isfinite(found).all())
    return float((found - expected).abs().max() / expected.abs().max())
