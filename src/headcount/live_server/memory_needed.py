"""Is there memory for a model? Asked before it is loaded, since the system would end the process without a word."""

from __future__ import annotations

from pathlib import Path

from headcount.errors import ModelUnavailable
from headcount.models.find_folder import find_folder
from headcount.models.load import load_config
from headcount.trace.memory import free_memory, spell_bytes

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
