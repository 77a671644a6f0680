"""Classifiers on a model whose attention encodes the tree, on one that knows nothing, in a study, and bad input."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.core.schema import read_schema
from headcount.errors import DataProblem, InvalidOption, StudyProblem
from tests.measures.planted import GAP, NOUNS, SIZE, planted_attention
from tests.measures.tiny import assert_untouched, causal, first_output, masked, translator
from tests.probing.treebank import sentences

TOP = 3
"""In the planted trees this word is the root and the head of all others, whatever it and its distance are."""
ATTENTION, DISTANCE, RANDOM = "attention", "distance and words", "attention, random weights"


def flat_trees(count: int = 120) -> pd.DataFrame:
    generator = np.random.default_rng(5)
    rows = []
    for _ in range(count):
        size = int(generator.integers(5, 12))
        heads = [0 if word == TOP else TOP for word in range(1, size + 1)]
        words = generator.choice(sorted(NOUNS), size).tolist()
        rows.append((words, ["X"] * size, heads, ["dep" if head else "root" for head in heads]))
    return pd.DataFrame(rows, columns=["tokens", "upos", "heads", "deprels"])


def planted() -> tuple[Any, Any]:
    """L0H6 attends to the third word, and L1H4 to [CLS], which stands for ROOT."""
    model, tokenizer = planted_attention()
    attention = model.bert.encoder.layer[0].attention.self
    rows = slice(6 * SIZE, 7 * SIZE)
    with torch.no_grad():
        attention.query.weight[rows][0, :SIZE] = GAP * sqrt(SIZE)
        attention.key.weight[rows][0, TOP] = 1
    return model, tokenizer


@pytest.fixture(scope="module")
def probed() -> xr.Dataset:
    return hc.probe(*planted(), flat_trees(), kind="classifiers", seeds=2)


def test_a_planted_tree_is_found_from_attention_alone(probed: xr.Dataset) -> None:
    uas = probed["uas"]
    assert float(uas.sel(probe=ATTENTION)) > 0.98
    assert float(uas.sel(probe="attention and words")) > 0.9
    assert float(uas.sel(probe=DISTANCE)) < 0.6, "neither the word nor its distance tells"
    assert float(probed["gain_distance_low"].sel(probe=ATTENTION)) > 0.3
    assert float(probed["gain_random_weights_low"].sel(probe=ATTENTION)) > 0.2
    weights = probed["weight"].stack(all=("stack", "layer", "head", "direction"))
    assert weights["all"].values[int(weights.values.argmax())] == ("encoder", 0, 6, "dependent to head")
    assert probed["uas_by_seed"].sizes == {"probe": 6, "seed": 2}


def test_every_number_is_labelled(probed: xr.Dataset) -> None:
    plain = {"stack", "layer", "head", "direction", "example", "sentence", "seed"}
    for name, array in probed.variables.items():
        assert name in plain or str(name).endswith(("_low", "_high")) or read_schema(array.attrs), name
    assert probed.attrs["split"] == {"train": 96, "development": 12, "test": 12}
    assert probed.attrs["attention_bytes"] > 0
    assert probed["sentence"].size == 12
    assert not any(array.ndim > 1 and array.shape[-1] == array.shape[-2] > 2 for array in probed.values()), "no maps"


def test_a_model_that_knows_nothing_is_no_better_than_its_control() -> None:
    """Trees without any rule: the attention of untrained weights says nothing about them."""
    generator = np.random.default_rng(1)
    table = flat_trees(150)
    table["heads"] = [
        [0, *(int(generator.integers(1, word)) for word in range(2, len(heads) + 1))] for heads in table["heads"]
    ]
    found = hc.probe(*masked(), table, kind="classifiers", seeds=1)
    gain = found.sel(probe=ATTENTION)
    assert float(gain["gain_random_weights_low"]) < 0.05


def test_a_study_resumes_and_keeps_no_maps(tmp_path: Path) -> None:
    model, tokenizer = masked()
    options: dict[str, Any] = {"kind": "classifiers", "seeds": 2}
    whole = hc.probe(model, tokenizer, sentences(30), **options)

    def stop(done: float, of: float, step: str = "") -> None:
        if step == "classifiers trained" and done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hc.probe(model, tokenizer, sentences(30), out=tmp_path / "study", progress=stop, **options)
    told: list[tuple[float, str]] = []

    def listen(done: float, of: float, step: str = "") -> None:
        told.append((done, step))

    found = hc.probe(model, tokenizer, sentences(30), out=tmp_path / "study", progress=listen, **options)
    assert {step for _, step in told} == {"sentences read", "classifiers trained"}
    assert next(done for done, step in told if step == "classifiers trained") >= 2
    xr.testing.assert_equal(found.drop_vars("done", errors="ignore"), whole)
    assert hc.open_study(tmp_path / "study")["probe/classifiers"].attrs["complete"]
    stored = sum(file.stat().st_size for file in (tmp_path / "study").rglob("*") if file.is_file())
    assert stored < 1_000_000
    with pytest.raises(StudyProblem, match="seeds: 2 -> 3"):
        hc.probe(model, tokenizer, sentences(30), out=tmp_path / "study", kind="classifiers")


def test_the_model_is_left_as_it_was() -> None:
    model, tokenizer = masked()
    batch = {"input_ids": torch.tensor([[2, 9, 10, 3]])}
    before = first_output(model, batch)
    with torch.inference_mode():
        hc.probe(model, tokenizer, sentences(12), kind="classifiers", seeds=1, control=False)
    assert_untouched(model, batch, before)


def test_decoders_and_encoder_decoders() -> None:
    model, tokenizer = causal()
    found = hc.probe(model, tokenizer, sentences(12), kind="classifiers", seeds=1, control=False)
    assert found.attrs["causal"]
    assert found.attrs["root"] == "a learned constant"
    model, tokenizer = translator()
    found = hc.probe(model, tokenizer, sentences(12), kind="classifiers", seeds=1, control=False)
    assert found["weight"].sel(stack="encoder").notnull().all()
    assert found["weight"].sel(stack=["decoder", "cross"]).isnull().all()
    assert found["probe"].values.tolist() == ["right-branching", DISTANCE, ATTENTION, "attention and words"]


def test_a_vectors_file(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("dog 1 0\nsaw 0 1\nthe 1 1\n")
    options: dict[str, Any] = {"kind": "classifiers", "seeds": 1, "control": False}
    found = hc.probe(*masked(), sentences(12), vectors=tmp_path / "vectors.txt", **options)
    assert found.attrs["vectors_from"] == "vectors.txt"
    assert 0 < found.attrs["vectors_known"] < 1
    (tmp_path / "vectors.txt").write_text("dog 1 0\nsaw 0\n")
    with pytest.raises(DataProblem, match="line 2"):
        hc.probe(*masked(), sentences(12), vectors=tmp_path / "vectors.txt", **options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"kind": "classifiers", "relations": "det"}, "relations=, which has no effect here"),
        ({"vectors": "v.txt"}, "vectors=, which has no effect here: it belongs to kind=classifiers"),
        ({"seeds": 2}, "seeds=, which has no effect here: it belongs to kind=classifiers"),
        ({"kind": "classifiers", "seeds": 0}, "got seeds=0; expected at least 1"),
        ({"kind": "classifiers", "words": "spoken"}, "expected one of written, annotated"),
    ],
)
def test_what_is_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        hc.probe(*masked(), sentences(12), **options)


def test_bad_trees() -> None:
    table = sentences(12)
    table.at[4, "heads"] = [2, 1, *table["heads"][4][2:]]
    with pytest.raises(DataProblem, match="sentence 5: the heads go round in a circle"):
        hc.probe(*masked(), table, kind="classifiers")
    with pytest.raises(DataProblem, match="got 5 sentences"):
        hc.probe(*masked(), sentences(5), kind="classifiers")
