"""Is there memory for a model? Asked before it is loaded, since the system would end the process without a word."""

from __future__ import annotations

import os
from pathlib import Path

from headcount.errors import ModelUnavailable
from headcount.models.find_folder import find_folder
from headcount.models.load import load_config
from headcount.trace.memory import spell_bytes

WEIGHTS = ("*.safetensors", "*.bin")
HALF = ("float16", "bfloat16")


def check_memory(model: str, device: str, dtype: str, free: int | None = None) -> None:
    """Refuse a model in a folder whose weights need more than the free memory of this machine (`free`, in bytes)."""
    folder = Path(find_folder(model))
    free = free_memory() if free is None else free
    if free is None or device not in ("auto", "cpu") or not folder.is_dir():
        return
    needed = weight_bytes(folder)
    stored = str(getattr(load_config(model), "dtype", "")).removeprefix("torch.")
    if stored in HALF and dtype in ("auto", "float32"):
        needed *= 2  # on a CPU, the model runs in float32
    if needed > free:
        raise ModelUnavailable(
            f"{model!r} needs {spell_bytes(needed)} of memory, and {spell_bytes(free)} are free; give a smaller model, "
            "another dtype (--dtype bfloat16) or a machine with more memory"
        )


def weight_bytes(folder: Path) -> int:
    """The size of the weights in a folder, of the first format that it has."""
    for pattern in WEIGHTS:
        sizes = [path.stat().st_size for path in folder.glob(pattern)]
        if sizes:
            return sum(sizes)
    return 0


def free_memory() -> int | None:
    """Bytes that programs can still have; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
