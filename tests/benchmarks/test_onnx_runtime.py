"""Vectors of a planted model by all three runtimes, against Headcount's own score, and the table of the benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from tests import planted
from tests.pruning import jobs

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[onnx]'")
onnx_runtime = pytest.importorskip("benchmarks.onnx_runtime")

TEXTS = planted.texts(40, seed=5)["sentence"].tolist()
PAIRS = pd.DataFrame({"sentence1": TEXTS, "sentence2": TEXTS[::-1], "label": np.linspace(0, 5, len(TEXTS))})
COLUMNS = ("sentence1", "sentence2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "model"
    jobs.random_model("BertModel").float().save_pretrained(path)
    planted.tokenizer(path).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def vectors(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The vectors of both columns by each runtime, with the bytes of its file."""
    model, tokenizer = hc.load(folder, head="similarity")
    variants = onnx_runtime.variants(model.eval(), tokenizer, tmp_path_factory.mktemp("files") / "onnx")
    return {
        name: ([onnx_runtime.embed(run, tokenizer, PAIRS[column].tolist()) for column in COLUMNS], size)
        for name, (run, size) in variants.items()
    }


def test_all_runtimes_give_the_same_vectors(vectors: dict[str, Any]) -> None:
    whole, (onnx, size), (small, smaller) = (
        vectors["PyTorch"][0],
        vectors["ONNX Runtime"],
        vectors["ONNX Runtime, int8"],
    )
    np.testing.assert_allclose(onnx, whole, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(whole, axis=-1), 1, atol=1e-6)
    cosines = (np.array(small) * np.array(whole)).sum(-1)
    assert 0.9 < cosines.min() < cosines.max() < 1, "int8 is close, and not the same"
    assert smaller < size


def test_the_score_is_that_of_a_sweep(folder: Path, vectors: dict[str, Any]) -> None:
    model, tokenizer = hc.load(folder, head="similarity")
    swept = hc.sweep(model, tokenizer, PAIRS, task="similarity", by="layer")
    names = {("model", name): found for name, (found, _) in vectors.items()}
    times = {key: [2.0, 4.0] for key in names} | {("model", "ONNX Runtime"): [1.0, 1.0]}
    table = onnx_runtime.as_table(times, dict.fromkeys(names, 1.0), names, PAIRS["label"].to_numpy())
    assert float(table["Spearman"][0]) == pytest.approx(float(swept["baseline"]), abs=1e-4)
    assert table["times as fast"].tolist() == ["1.00", "3.00", "1.00"], "the median of the turns"
    assert table["change"][0] == ""
    assert table["change"][1] == "+0.0000 [+0.0000, +0.0000]"


def test_other_poolings_are_refused(folder: Path) -> None:
    model, _ = hc.load(folder, head="similarity")
    onnx_runtime.check_pooling(model, folder)
    modules = '[{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "1_Pooling"}]'
    (folder / "modules.json").write_text(modules)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    model, _ = hc.load(folder, head="similarity")
    with pytest.raises(SystemExit, match="pooling=first"):
        onnx_runtime.check_pooling(model, folder)
