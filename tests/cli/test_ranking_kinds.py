"""Similarity, retrieval and reranking through all verbs of the command line, from a sweep to the smaller model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from headcount.cli.main import main
from tests import planted
from tests.pruning import jobs

COUNT = 48
KINDS = ("similarity", "retrieval", "reranking")


def table(kind: str) -> pd.DataFrame:
    texts = planted.texts(COUNT, seed=7)["sentence"]
    if kind == "similarity":
        return pd.DataFrame({"sentence1": texts, "sentence2": texts.values[::-1], "label": np.linspace(0, 5, COUNT)})
    lists = [[texts[(number + 5 * step) % COUNT] for step in range(1, 4 + number % 3)] for number in range(COUNT)]
    relevance = [[2.0] + [0.0] * (len(documents) - 2) + [1.0] for documents in lists]
    return pd.DataFrame({"query": texts, "documents": lists, "relevance": relevance})


@pytest.fixture(scope="module", params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, its data and a study, in a folder that is called after the kind."""
    path = tmp_path_factory.mktemp("kinds") / request.param
    ranks = {"num_labels": 1, "id2label": {0: "score"}, "label2id": {"score": 0}}
    model = jobs.random_model(**ranks) if request.param == "reranking" else jobs.random_model("BertModel")
    model.float().save_pretrained(path / "model")
    planted.tokenizer(path / "model").save_pretrained(path / "model")
    table(request.param).to_json(path / "rows.jsonl", orient="records", lines=True)
    return path


def words(place: Path, verb: str, *more: str, model: str = "model") -> list[str]:
    return [verb, str(place / model), "--task", place.name, "--data", str(place / "rows.jsonl"), *more]


def read(place: Path, group: str) -> Any:
    return hc.open_study(place / "study")[group].to_dataset()


def test_every_verb(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, small = ["--out", str(place / "study")], str(tmp_path / "small")
    assert main(words(place, "sweep", *study)) == 0
    assert main(words(place, "importance", *study)) == 0
    steps = ["--steps", "2", "--randoms", "1"]
    assert main(words(place, "choose", "--drop", "3", *steps, "--study", str(place / "study"))) == 0
    chosen = ["--study", str(place / "study"), "--name", "parts", "--recover", "2", "--out", small]
    budget = ["--what", "both", "--weights", "95%", "--steps", "1", "--randoms", "1", "--own-labels"]
    assert main(words(place, "prune", *budget, *chosen)) == 0
    assert "as the teacher" in capsys.readouterr().out.replace("\n", " ")
    out = str(tmp_path / "recovered")
    assert main(["recover", small, *words(place, "")[2:], "--max-steps", "2", "--out", out]) == 0
    assert main(["report", str(place / "study"), "--output", str(tmp_path / "page.html")]) == 0
    assert ("spearman" if place.name == "similarity" else "ndcg@10") in (tmp_path / "page.html").read_text("utf-8")
    for folder in (small, out):
        capsys.readouterr()
        assert (
            main([*words(place, "sweep", "--by", "layer", "--json")[:1], folder, *words(place, "")[2:], "--json"]) == 0
        )
        assert json.loads(capsys.readouterr().out)


def test_statistics_are_those_of_other_kinds(place: Path) -> None:
    """Intervals hold their scores, every head has a test, and the change is the difference of the scores."""
    found = hc.sweep(*hc.load(place / "model", head=place.name), table(place.name), task=place.name)
    assert float(found["baseline_low"]) <= float(found["baseline"]) <= float(found["baseline_high"])
    np.testing.assert_allclose(found["score"] - found["baseline"], found["delta"], atol=1e-9)
    assert bool((found["low"] <= found["delta"]).all())
    assert bool((found["delta"] <= found["high"]).all())
    assert bool(np.isfinite(found["p"]).all())
    assert bool((found["q"] >= found["p"] - 1e-12).all())


def test_two_shards_and_a_restart_are_one_run(place: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main(words(place, "sweep", "--batch-tokens", "64", "--out", str(whole))) == 0
    for part in ("2/2", "1/2", "1/2"):
        assert main(words(place, "sweep", "--batch-tokens", "64", "--shard", part, "--out", str(parts))) == 0
    first, second = (hc.open_study(one)["sweep/head-zero"] for one in (whole, parts))
    for name in ("baseline", "delta", "low", "p"):
        np.testing.assert_array_equal(first[name], second[name])
