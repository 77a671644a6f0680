"""A kind of task is added in one file and one line, and every verb takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

import headcount as hc
from headcount.cli.main import main
from headcount.data.kinds.catalogue import KINDS
from tests.closeness import FLOAT32, assert_same
from tests.data.kinds.multi_label import MultiLabel
from tests.training import toy

CLASSES = {0: "negative", 1: "positive", 2: "upwards"}
SIGNS = {"negative": "bad", "positive": "good", "upwards": "up"}


def texts(count: int, seed: int) -> pd.DataFrame:
    """A text has a class for each of three words that it may hold: none, some, or all of them."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        labels = [name for name in SIGNS if generator.random() < 0.5]
        words = [*generator.choice(toy.FILLERS, 4), *(SIGNS[name] for name in labels)]
        rows.append({"text": " ".join(generator.permutation(words)), "labels": json.dumps(labels)})
    return pd.DataFrame(rows)


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The line in the catalogue, and tables in which lists are text, as csv files have them."""
    monkeypatch.setitem(KINDS, "multi-label", MultiLabel())
    folder = tmp_path / "data"
    folder.mkdir()
    texts(48, 0).to_csv(folder / "train.csv", index=False)
    texts(24, 1).to_csv(folder / "validation.csv", index=False)
    toy.save_checkpoint(tmp_path / "model")
    return folder


def multi_hot(table: pd.DataFrame) -> np.ndarray:
    return np.array([[name in json.loads(cell) for name in CLASSES.values()] for cell in table["labels"]], dtype=int)


@torch.no_grad()
def logits_of(model: Any, tokenizer: Any, table: pd.DataFrame) -> np.ndarray:
    return np.stack([model(**tokenizer(text, return_tensors="pt")).logits[0].numpy() for text in table["text"]])


def test_a_kind(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained = hc.finetune(tmp_path / "model", "multi-label", data, tmp_path / "runs", settings=toy.QUICK)
    assert trained["metric"].tolist() == ["accuracy"]
    assert not trained["failed"].any()
    folder, file, study = trained["model"][0], data / "validation.csv", tmp_path / "study"
    model, tokenizer = hc.load(folder)
    assert model.config.id2label == CLASSES
    assert model.config.problem_type == "multi_label_classification"
    table = pd.read_csv(file)
    truth, logits = multi_hot(table), logits_of(model, tokenizer, table)
    score = accuracy_score(truth, logits > 0)
    assert score > 0.5, "guessing gives 1/8"
    assert trained["score"][0] == pytest.approx(score)

    swept = hc.sweep(model, tokenizer, file, task="multi-label", how="zero", out=study)
    assert swept.attrs["test"] == "mcnemar"
    assert float(swept["baseline"]) == pytest.approx(score)
    by_f1 = hc.sweep(model, tokenizer, file, task="multi-label", how="zero", metric="f1")
    for head in hc.read_anatomy(model).layout:
        with hc.ablated(model, [head], how="zero"):
            without = logits_of(model, tokenizer, table)
        where = {"stack": head.stack, "layer": head.layer, "head": head.head}
        assert_same(swept["logits"].sel(where).values, without, FLOAT32)
        assert float(swept["score"].sel(where)) == pytest.approx(accuracy_score(truth, without > 0))
        assert float(by_f1["score"].sel(where)) == pytest.approx(f1_score(truth, without > 0, average="micro"))
        same = ((without > 0) == (logits > 0)).all(-1).mean()
        assert float(swept["unchanged"].sel(where)) == pytest.approx(same)

    slopes = -hc.importance(model, tokenizer, file, task="multi-label", out=study)["values_taylor"]
    for row, text in enumerate(table["text"][:3]):
        gates = torch.ones(2, 2, requires_grad=True)
        batch = tokenizer(text, return_tensors="pt")
        with hc.gated(model, gates):
            loss = model(**batch, labels=torch.tensor(truth[row : row + 1]).float()).loss
        (slope,) = torch.autograd.grad(loss, [gates])
        assert_same(slopes.sel(example=row, stack="encoder").values, slope.numpy(), FLOAT32)

    assert main(["importance", folder, "--task", "multi-label", "--data", str(file), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == slopes[0].size
    assert main(["report", str(study), "-o", str(tmp_path / "page.html")]) == 0
