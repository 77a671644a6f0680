"""Is there memory for a model? Asked before it is loaded, since the system would end the process without a word."""

from __future__ import annotations

import json
from pathlib import Path

from headcount.errors import ModelUnavailable
from headcount.models.find_folder import find_folder
from headcount.models.load import load_config
from headcount.trace.memory import free_memory, spell_bytes

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""The formats, in the order in which they are loaded; `.index.json` behind a name lists the files of a large model."""
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
    """The size of the weights that are loaded from a folder; others may lie beside them, as in Mistral's."""
    for name in WEIGHTS:
        index = folder / f"{name}.index.json"
        files = {name} if (folder / name).is_file() else _listed(index)
        if sizes := [path.stat().st_size for file in files if (path := folder / file).is_file()]:
            return sum(sizes)
    return 0


def _listed(index: Path) -> set[str]:
    """The files that an index names; none where it is not there or cannot be read, which loading the model reports."""
    try:
        return set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
