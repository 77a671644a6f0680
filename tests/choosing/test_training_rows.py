"""Rows along a training: kept in a file digit by digit, resumed up to a step, computed without a trace."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as tf

from headcount.choosing.training_rows import Journal, Row, undisturbed
from headcount.errors import StudyProblem

ABOUT = {"task": "mrpc", "limit": 32}


def row(step: int) -> Row:
    values = np.random.default_rng(step).normal(size=(1, 2, 3)).astype(np.float32) / 1e4
    values[0, 1, 2] = np.nan
    return Row(step, {"importance": values, "taylor": -3 * values}, 0.1 + step)


def filled(path: Path, steps: int = 4) -> Journal:
    journal = Journal(path, ABOUT, "start")
    journal.begin()
    for step in range(steps):
        journal.add(row(step))
    return journal


def test_rows_come_back_bit_for_bit(tmp_path: Path) -> None:
    filled(tmp_path / "new" / "heads.jsonl")
    journal = Journal(tmp_path / "new" / "heads.jsonl", ABOUT, "another")
    rows = journal.resume(2)
    assert [each.step for each in rows] == [0, 1, 2]
    assert journal.start == "start", "that of the model which the training began with"
    for each in rows:
        expected = row(each.step)
        assert each.stability == expected.stability
        assert each.arrays.keys() == expected.arrays.keys()
        for name, values in expected.arrays.items():
            np.testing.assert_array_equal(each.arrays[name], values)
            assert each.arrays[name].dtype == np.float32
    journal.add(row(7))
    assert [each.step for each in Journal(journal.path, ABOUT, "").resume(9)] == [0, 1, 2, 7], "later rows were dropped"
    assert list(journal.path.parent.iterdir()) == [journal.path]


def test_half_a_line_and_no_file(tmp_path: Path) -> None:
    journal = filled(tmp_path / "heads.jsonl")
    text = journal.path.read_text()
    journal.path.write_text(text[:-9])
    assert [each.step for each in journal.resume(9)] == [0, 1, 2]
    journal.path.unlink()
    assert journal.resume(9) == []
    assert json.loads(journal.path.read_text()) == {"about": ABOUT, "start": "start"}


def test_another_training_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "heads.jsonl").path
    before = path.read_text()
    with pytest.raises(StudyProblem, match="other options .limit: 32 -> 16.*give the same ones to resume"):
        Journal(path, ABOUT | {"limit": 16}, "start").resume(9)
    assert path.read_text() == before
    path.write_text("not a line of ours\n")
    with pytest.raises(StudyProblem, match="other options"):
        Journal(path, ABOUT, "start").resume(9)


def test_nothing_is_left_behind_also_after_an_error() -> None:
    config = tf.BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    model = tf.BertModel(config).train()
    model.pooler.eval()
    frozen = model.pooler.dense.weight.requires_grad_(False)
    model.embeddings.word_embeddings.weight.grad = torch.ones(9, 8)
    torch.manual_seed(1), np.random.seed(1), random.seed(1)
    expected = torch.rand(1), np.random.random(), random.random()
    torch.manual_seed(1), np.random.seed(1), random.seed(1)
    with pytest.raises(ValueError, match="inside"), undisturbed(model):
        assert not any(module.training for module in model.modules())
        assert not any(parameter.requires_grad for parameter in model.parameters())
        torch.rand(3), np.random.random(3), random.random()
        raise ValueError("inside")
    assert (torch.rand(1), np.random.random(), random.random()) == expected
    assert model.training
    assert not model.pooler.training
    assert [parameter for parameter in model.parameters() if not parameter.requires_grad] == [frozen]
    assert bool((model.embeddings.word_embeddings.weight.grad == 1).all())
