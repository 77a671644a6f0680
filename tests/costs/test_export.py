"""A model for other tools from Python: zeros in whole shapes, and what is refused; ONNX is in test_onnx.py."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification

import headcount as hc
from headcount.errors import InvalidOption, OutputTaken
from tests import planted


def test_zeroed_computes_what_the_pruned_model_does(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path / "words")
    model = hc.prune(planted.classifier(), "L0H1")
    assert hc.export(model, tokenizer, tmp_path / "whole", to="zeroed") is None
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "whole")
    batch = tokenizer("so good", return_tensors="pt")
    with torch.no_grad():
        torch.testing.assert_close(again(**batch).logits, model(**batch).logits)


def test_what_is_refused(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path / "words")
    with pytest.raises(InvalidOption, match="got to='tflite'; expected one of onnx, zeroed"):
        hc.export(planted.classifier(), tokenizer, tmp_path / "new", to="tflite")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(OutputTaken, match="not empty"):
        hc.export(planted.classifier(), tokenizer, tmp_path / "full", to="zeroed")
