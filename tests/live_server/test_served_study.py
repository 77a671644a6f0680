"""A study beside the model: its texts and its page's data, and no other model's study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import headcount as hc
from headcount.errors import StudyProblem
from headcount.live_server.served_study import ServedStudy
from tests import planted


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("here")
    planted.save(path / "model")
    model, tokenizer = hc.load(path / "model")
    hc.sweep(model, tokenizer, planted.texts(24), task="sst2", how="zero", out=path / "study")
    return path / "study"


def test_its_texts_and_its_page(study: Path) -> None:
    served = ServedStudy(study, hc.load(study.parent / "model")[0])
    assert len(served.texts()) == 24
    data = served.page_data()
    assert data["studies"][0]["task"] == "sst2"
    assert data["notes"] == []
    said = json.dumps(data)
    assert str(study.parent) not in said
    assert str(Path.home()) not in said


def test_another_model_is_refused(study: Path) -> None:
    other = planted.classifier()
    with torch.no_grad():
        other.classifier.weight.mul_(2)
    with pytest.raises(StudyProblem, match="give the study of this model"):
        ServedStudy(study, other)
    with pytest.raises(StudyProblem, match="give the study of this model"):
        ServedStudy(study, planted.classifier(layers=1).double())


def test_another_dtype_is_noted(study: Path) -> None:
    served = ServedStudy(study, planted.classifier().double())
    assert "float32, the model here is in float64" in served.notes[0]
    assert str(study.parent) not in json.dumps(served.page_data())
