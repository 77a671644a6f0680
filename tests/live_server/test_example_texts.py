"""Examples: those of the study, else those that come with a bundled model, else none."""

from __future__ import annotations

from pathlib import Path

import headcount as hc
from headcount.live_server.example_texts import example_texts
from headcount.live_server.served_study import ServedStudy
from headcount.models.load import load_model
from tests import planted


def test_bundled_models_have_texts() -> None:
    pairs = example_texts(load_model("bundled:qnli"), None)
    assert len(pairs) == 64
    assert pairs[0][0].endswith("?")
    assert all(len(texts) == 1 for texts in example_texts(load_model("bundled:pretrained"), None))


def test_a_study_comes_first(tmp_path: Path) -> None:
    model, data = planted.classifier(), planted.texts(24)
    assert example_texts(model, None) == []
    hc.sweep(model, planted.tokenizer(tmp_path), data, task="sst2", how="zero", out=tmp_path / "study")
    served = ServedStudy(tmp_path / "study", model)
    assert set(example_texts(model, served)) == {(text,) for text in data["sentence"]}
