"""Which folders sentence-transformers wrote, and which of their files go with a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.data.kinds.sentence_files import makes_vectors, read_sentence_files, transformer_folder
from headcount.errors import ModelUnavailable


def folder_of(folder: Path, *modules: tuple[str, str]) -> Path:
    listed = [{"path": path, "type": f"sentence_transformers.models.{name}"} for path, name in modules]
    (folder / "modules.json").write_text(json.dumps(listed))
    for path, _ in modules:
        (folder / path).mkdir(exist_ok=True)
        (folder / path / "config.json").write_text("{}")
    return folder


def test_the_files_beside_the_model(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, ("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"))
    (folder / "2_Dense" / "model.safetensors").write_bytes(b"weights")
    (folder / "sentence_bert_config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"the model's own")
    found = read_sentence_files(folder)
    assert set(found) == {
        "modules.json",
        "sentence_bert_config.json",
        "1_Pooling/config.json",
        "2_Dense/config.json",
        "2_Dense/model.safetensors",
    }
    assert found["2_Dense/model.safetensors"] == b"weights"


def test_other_folders(tmp_path: Path) -> None:
    assert transformer_folder(tmp_path) is None
    assert read_sentence_files(tmp_path / "missing") == {}
    cross = folder_of(tmp_path, ("", "Transformer"))
    assert transformer_folder(cross) == cross
    assert not makes_vectors(read_sentence_files(cross)), "a cross-encoder pools nothing"
    assert transformer_folder(folder_of(tmp_path, ("0_BoW", "BoW"), ("1_Pooling", "Pooling"))) is None


def test_modules_without_paths(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text('[{"name": "0"}]')
    with pytest.raises(ModelUnavailable, match="does not list modules with path and type"):
        transformer_folder(tmp_path)
