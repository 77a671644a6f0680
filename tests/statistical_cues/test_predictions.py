"""A model's predictions: as the baseline of a sweep, for texts and for multiple choice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.ablation.job import prepare_job
from headcount.errors import NotFinite
from headcount.statistical_cues.predictions import predict_labels
from tests import planted


def test_as_the_baseline_of_a_sweep(tmp_path: Path) -> None:
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(tmp_path / "words"), planted.texts(60)
    job = prepare_job(model, tokenizer, texts, "sst2", "zero", None, None, 0, None)
    predicted = predict_labels(job, tokenizer)
    swept = hc.sweep(model, tokenizer, texts, task="sst2")
    assert float((predicted == texts["label"]).mean()) == pytest.approx(float(swept["baseline"]))
    assert set(np.unique(predicted)) == {0, 1}


def test_outputs_that_are_not_finite(tmp_path: Path) -> None:
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path / "words")
    job = prepare_job(model, tokenizer, planted.texts(20), "sst2", "zero", None, None, 0, None)
    with torch.no_grad():
        model.classifier.bias.fill_(float("nan"))
    with pytest.raises(NotFinite):
        predict_labels(job, tokenizer)
