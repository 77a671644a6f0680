"""Maps from the parts of a model to devices: what is taken, what is refused, what is left behind."""

from __future__ import annotations

import gc
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

from headcount.errors import HeadcountError, InvalidOption, MissingPackage
from headcount.models import device_map
from headcount.models.device_map import check_device_map, read_device_map, runs_on_cpu
from headcount.models.fingerprint import model_fingerprint
from headcount.models.load import load_model
from tests.contracts.two_parts import two_parts
from tests.contracts.zoo import tiny


def test_maps_that_the_command_line_names(tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"layers": "disk", "norm": 0}))
    assert read_device_map("auto") == "auto"
    assert read_device_map(str(path)) == {"layers": "disk", "norm": 0}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), ("{", "it is no JSON"), ("[1]", r"holds \[1\]"), (b"\xff", "it is no JSON")],
)
def test_files_that_are_no_maps(content: str | bytes | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidOption, match=f"{reason}.*expected auto, balanced"):
        read_device_map(str(path))


def test_a_word_that_is_neither() -> None:
    with pytest.raises(InvalidOption, match="got device_map='everywhere'; expected auto, balanced"):
        read_device_map("everywhere")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "empty device_map="),
        ({"layers": None}, "got None for 'layers' in device_map="),
        ({"layers": True}, "got True for 'layers'"),
        ({"layers": "abacus"}, "device 'abacus' for 'layers' in device_map=, which is not here"),
        ({"layers": 77}, "device 'cuda:77' for 'layers'"),
        ("abacus", "device 'abacus' in device_map=, which is not here; expected auto, balanced"),
    ],
)
def test_maps_that_cannot_be(given: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        check_device_map(given)


def test_without_accelerate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_map, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="device_map= needs accelerate; install it with: pip install accelerate"):
        check_device_map("auto")


def test_where_a_map_computes() -> None:
    assert runs_on_cpu({"a": "cpu", "b": "disk"})
    assert runs_on_cpu(torch.device("cpu"))
    assert not runs_on_cpu({"a": "cuda:0", "b": "disk"})
    assert not runs_on_cpu({"a": 0, "b": "cpu"})
    assert runs_on_cpu("auto") != torch.cuda.is_available()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm": None}, "device_map= has no device for norm.weight; name all parts of the model"),
        ({"layers.1": None}, r"has no device for layers.1.self_attn.q_proj.weight and 8 more"),
        ({"nonsense": "cpu"}, "device_map= names nonsense, which LlamaModel does not have"),
        ({"layers.2.mlp": "cpu"}, "another device; give the whole module one device"),
    ],
)
def test_maps_that_do_not_match_the_model(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    model = tiny("llama")
    model.save_pretrained(tmp_path)
    parts = {name: device for name, device in (two_parts(model) | change).items() if device is not None}
    with pytest.raises(HeadcountError, match=message):
        load_model(tmp_path, device_map=parts)


def test_one_device_is_no_map(tmp_path: Path) -> None:
    tiny("llama").save_pretrained(tmp_path)
    assert load_model(tmp_path, device_map="cpu").device == torch.device("cpu")
    assert load_model(tmp_path, device_map={"": "cpu"}).device == torch.device("cpu")


def test_weights_that_are_written_again_go_with_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only safetensors can be read piece by piece; other weights are copied to a folder of their own."""
    (tmp_path / "offloaded").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "offloaded"))
    whole = tiny("llama")
    whole.save_pretrained(tmp_path / "model")
    parts = load_model(tmp_path / "model", device_map=two_parts(whole))
    assert not list((tmp_path / "offloaded").iterdir()), "read from where they are"
    del parts
    (tmp_path / "model" / "model.safetensors").unlink()
    torch.save(whole.state_dict(), tmp_path / "model" / "pytorch_model.bin")
    parts = load_model(tmp_path / "model", device_map=two_parts(whole))
    assert len(list((tmp_path / "offloaded").iterdir())) == 1
    assert model_fingerprint(parts) == model_fingerprint(whole)
    del parts
    gc.collect()
    assert not list((tmp_path / "offloaded").iterdir())
