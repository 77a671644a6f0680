"""Heads against dependencies: planted heads are found with their exact accuracy, where fixed offsets fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.errors import DataProblem, InvalidOption, StudyProblem
from headcount.measures import passes
from headcount.probing.selection.accuracies import halves
from tests.measures.planted import planted_attention
from tests.measures.tiny import causal, masked, translator
from tests.probing.treebank import RIGHT, naive_hits, sentences

TREES = sentences()


@pytest.fixture(scope="module")
def planted() -> Any:
    return planted_attention()


@pytest.fixture(scope="module")
def probed(planted: Any) -> xr.Dataset:
    return hc.probe(*planted, TREES)


def test_a_planted_head_is_found_with_its_exact_accuracy(probed: xr.Dataset) -> None:
    accuracy = probed["accuracy"].sel(stack="encoder", layer=0, head=3, direction="dependent to head")
    assert float(accuracy.sel(relation="det")) == RIGHT
    best = probed.sel(relation="det")
    assert (str(best["best_head"].item()), str(best["best_direction"].item())) == ("L0H3", "dependent to head")
    held = ~halves(len(TREES), 0)
    assert float(best["best_accuracy"]) == pytest.approx((np.flatnonzero(held) % 4 != 3).mean())
    assert float(best["baseline_offset"]) < 0.3
    assert float(best["gain_low"]) > 0.3
    assert float(best["baseline_random_weights"]) < 0.4
    assert float(probed["relation_gain"].sel(stack="encoder", layer=0, head=3)) > 0.3


def test_every_interval_holds_its_value(probed: xr.Dataset) -> None:
    for name in ("accuracy", "best_accuracy", "baseline_offset", "gain", "baseline_random_weights", "relation_gain"):
        value, low, high = (probed[f"{name}{ending}"].values for ending in ("", "_low", "_high"))
        assert np.isfinite(value).all()
        assert ((low <= value + 1e-6) & (value - 1e-6 <= high)).all(), name


def test_offsets_find_what_has_a_fixed_distance(planted: Any) -> None:
    """The head of each word is the word before it: L0H0, which looks there, is no better than the offset -1."""
    chain = pd.DataFrame(
        [
            (["the", "dog", "saw", "it"][:size], ["X"] * size, list(range(size)), ["root", *["dep"] * (size - 1)])
            for size in (2, 3, 4) * 40
        ],
        columns=["tokens", "upos", "heads", "deprels"],
    )
    found = hc.probe(*planted, chain, control=False).sel(relation="dep")
    assert (str(found["best_head"].item()), int(found["best_offset"])) == ("L0H0", -1)
    assert float(found["best_accuracy"]) == float(found["baseline_offset"]) == 1
    assert float(found["gain"]) == 0
    assert "baseline_random_weights" not in found


@pytest.mark.parametrize("source", ["mean", "first"])
def test_equal_to_a_loop_over_words(source: str) -> None:
    model, tokenizer = masked()
    rows = pd.DataFrame(
        [
            (["dogs", "saw", "the", "cats"], ["X"] * 4, [2, 0, 4, 2], ["nsubj", "root", "det", "obj"]),
            (["the", "books", "sings", "."], ["X"] * 4, [2, 3, 0, 3], ["det", "nsubj:pass", "root", "punct"]),
            (["she", "chased", "birds"], ["X"] * 3, [2, 0, 2], ["nsubj", "root", "obj"]),
        ],
        columns=["tokens", "upos", "heads", "deprels"],
    )
    relations = ["nsubj", "obj", "det"]
    found = hc.probe(model.double(), tokenizer, rows, relations=relations, from_word=source, control=False)
    assert found["relation"].values.tolist() == ["all", *relations]
    hits = found["values_hits"].sel(stack="encoder")
    for number, row in rows.iterrows():
        for relation in relations:
            expected = naive_hits(model, tokenizer, row, relation, source)
            np.testing.assert_array_equal(hits.sel(example=number, relation=relation).values, expected)
    assert found["cases"].sel(stack="encoder", direction="dependent to head").values.tolist() == [7, 3, 2, 2]


def test_batches_and_units_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model without ties: a planted head that attends to all words alike has no most attended one."""
    model, tokenizer = masked()
    expected = hc.probe(model.double(), tokenizer, TREES[:40], relations="det,obj")
    monkeypatch.setattr(passes, "UNIT", 7)
    found = hc.probe(model, tokenizer, TREES[:40], relations="det,obj", compute=hc.Compute(batch_tokens=30))
    xr.testing.assert_equal(found, expected)


def test_a_causal_model_is_asked_for_what_it_can_see() -> None:
    model, tokenizer = causal()
    rows = sentences(30)
    found = hc.probe(model, tokenizer, rows, relations="det,dep", control=False)
    heads = [
        (head - 1 < word, deprel)
        for row in rows.itertuples()
        for word, (head, deprel) in enumerate(zip(row.heads, row.deprels, strict=True))
    ]
    for direction, before in (("dependent to head", True), ("head to dependent", False)):
        cases = found["cases"].sel(stack="decoder", direction=direction, relation="det")
        assert int(cases) == sum(deprel == "det" and earlier == before for earlier, deprel in heads)
    assert float(found["accuracy"].max()) <= 1


def test_the_encoder_of_a_translator() -> None:
    model, tokenizer = translator()
    found = hc.probe(model, tokenizer, sentences(20), relations=["det"], control=False)
    assert found["accuracy"].sel(stack="encoder").notnull().all()
    assert found["accuracy"].sel(stack=["decoder", "cross"]).isnull().all()


def test_a_study_resumes(planted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "UNIT", 10)
    options: dict[str, Any] = {"relations": "det", "control": False, "out": tmp_path / "study"}
    whole = hc.probe(*planted, TREES[:30], **options | {"out": None})

    def stop(done: float, of: float) -> None:
        if done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hc.probe(*planted, TREES[:30], progress=stop, **options)
    told: list[float] = []
    found = hc.probe(*planted, TREES[:30], progress=lambda done, of: told.append(done), **options)
    assert told[0] == 10
    xr.testing.assert_equal(found.drop_vars("done", errors="ignore"), whole)
    stored = hc.open_study(tmp_path / "study")["probe/dependencies"]
    assert stored.attrs["complete"]
    with pytest.raises(StudyProblem, match="from_word|rule"):
        hc.probe(*planted, TREES[:30], from_word="first", **options)


def test_the_model_is_left_as_it_was(planted: Any) -> None:
    model, tokenizer = planted
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    hc.probe(model, tokenizer, TREES[:10], relations=["det"])
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


BAD = {
    "circle": ([2, 3, 2], "round in a circle"),
    "out of range": ([9, 0, 1], "has the head 9; expected 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_trees_that_are_none(planted: Any, case: str) -> None:
    heads, expected = BAD[case]
    rows = pd.DataFrame([(["the", "dog", "saw"], ["X"] * 3, heads, ["det", "obj", "dep"])] * 3)
    rows.columns = ["tokens", "upos", "heads", "deprels"]
    with pytest.raises(DataProblem, match=expected):
        hc.probe(*planted, rows)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"kind": "constituents"}, "expected one of dependencies"),
        ({"relations": "dobj"}, "got the relation 'dobj', which never occurs; the sentences have"),
        ({"from_word": "max"}, "expected one of mean, first"),
        ({"limit": 0}, "limit=0"),
        ({"name": "again"}, "out"),
    ],
)
def test_what_is_refused(planted: Any, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        hc.probe(*planted, TREES[:10], **options)


def test_one_sentence_has_no_halves(planted: Any) -> None:
    with pytest.raises(DataProblem, match="at least two"):
        hc.probe(*planted, TREES[:1])
