"""A model that does not fit into memory is refused before it is loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.errors import ModelUnavailable
from headcount.live_server.memory_needed import check_memory, free_memory, weight_bytes
from tests import planted


def test_both_sizes_are_named(tmp_path: Path) -> None:
    folder = planted.save(tmp_path / "model")
    needed = weight_bytes(folder)
    check_memory(str(folder), "cpu", "auto", free=needed)
    with pytest.raises(ModelUnavailable, match="needs 1 MB of memory, and 1 MB are free; give a smaller model"):
        check_memory(str(folder), "cpu", "auto", free=needed - 1)
    check_memory(str(folder), "cuda", "auto", free=0)


def test_half_precision_is_float32_on_a_cpu(tmp_path: Path) -> None:
    folder = planted.save(tmp_path / "model")
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"dtype": "bfloat16"}))
    needed = weight_bytes(folder)
    check_memory(str(folder), "cpu", "bfloat16", free=needed)
    with pytest.raises(ModelUnavailable, match="needs"):
        check_memory(str(folder), "cpu", "auto", free=2 * needed - 1)


def test_only_weights_that_are_loaded_count(tmp_path: Path) -> None:
    """Folders may hold the same weights twice, or others, such as those of an adapter."""
    folder = planted.save(tmp_path / "model")
    needed = weight_bytes(folder)
    assert needed == (folder / "model.safetensors").stat().st_size
    for name in ("consolidated.safetensors", "adapter_model.safetensors", "pytorch_model.bin"):
        (folder / name).write_bytes(b"0" * needed)
    assert weight_bytes(folder) == needed
    (folder / "model.safetensors").rename(folder / "model-1-of-1.safetensors")
    names = {"weight_map": {"one": "model-1-of-1.safetensors", "other": "model-1-of-1.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(names))
    assert weight_bytes(folder) == needed


def test_what_is_free() -> None:
    free = free_memory()
    assert free is None or free > 2**20
    check_memory("some/name-on-the-hub", "cpu", "auto", free=0)
