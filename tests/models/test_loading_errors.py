"""Folders that are damaged in the ways in which folders are damaged, each with its line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from headcount.errors import ModelUnavailable
from headcount.models.load import load_model
from tests.contracts.zoo import tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny("bert").save_pretrained(tmp_path)
    return tmp_path


def refused(folder: Path) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        load_model(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("left", [0, 5, 1000, -4])
def test_a_truncated_file_is_named(folder: Path, left: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:left])
    assert "model.safetensors is damaged or not whole" in refused(folder)


def test_a_truncated_shard_is_named(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    tiny("bert").save_pretrained(folder, max_shard_size="20KB")
    second = sorted(folder.glob("model-*"))[1]
    second.write_bytes(second.read_bytes()[:-8])
    assert f"{second.name} is damaged or not whole" in refused(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_a_pointer_of_git_lfs(folder: Path, name: str) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert f"{name} is a pointer of Git LFS, not the weights" in refused(folder)


class _Runs:
    def __reduce__(self) -> Any:
        return (open, ("ran", "w"))


@pytest.mark.parametrize("what", ["whole model", "half", "nothing", "code"])
def test_a_pickle_that_is_no_plain_weights(
    folder: Path, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save(tiny("bert") if what == "whole model" else tiny("bert").state_dict(), path)
    if what == "half":
        path.write_bytes(path.read_bytes()[:2000])
    elif what == "nothing":
        path.write_bytes(b"")
    elif what == "code":
        path.write_bytes(pickle.dumps({"weight": _Runs()}))
    said = refused(folder)
    assert "pytorch_model.bin cannot be read as plain tensors" in said
    assert "convert it to safetensors" in said
    assert not (tmp_path / "ran").exists()


def test_a_pickle_of_plain_weights_loads(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save(tiny("bert").state_dict(), folder / "pytorch_model.bin")
    loaded = load_model(folder).state_dict()
    assert all(torch.equal(loaded[key], tensor) for key, tensor in tiny("bert").state_dict().items())


def test_code_of_its_own_is_not_run(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "strange", "auto_map": {"AutoConfig": "strange.Strange", "AutoModel": "strange.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "strange.py").write_text("raise SystemExit('foreign code ran')")
    said = refused(folder)
    assert "needs code of its own" in said
    assert "give trust_remote_code=True" in said


@pytest.mark.parametrize(
    ("family", "key", "value", "words"),
    [
        ("bert", "num_attention_heads", 5, "not a multiple of the number of attention heads"),
        ("gpt2", "n_head", 5, "must be divisible by num_heads"),
        ("llama", "num_attention_heads", 5, "not a multiple of the number of attention heads"),
        ("bert", "num_attention_heads", "x", "expected int, got str"),
        ("bart", "decoder_attention_heads", None, "NoneType"),
    ],
)
def test_a_config_that_describes_no_model(tmp_path: Path, family: str, key: str, value: Any, words: str) -> None:
    tiny(family).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {key: value}))
    said = refused(tmp_path)
    assert words in said
    assert "config.json describes no model that can be built" in said
