"""A model for other tools from Python: zeros in whole shapes, and what is refused; ONNX is in test_onnx.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification

import headcount as hc
from headcount.errors import InvalidOption, OutputTaken
from headcount.models.anatomy import read_anatomy
from tests import planted


def with_units(model: Any) -> Any:
    """With feed-forward layers that do something."""
    torch.manual_seed(3)
    for blocks in read_anatomy(model).feed_forwards.values():
        for block in blocks:
            for module in (*dict(block.inputs).values(), block.output):
                weight: Any = module.weight
                torch.nn.init.normal_(weight)
    return model


@pytest.mark.parametrize("names", ["L0H1", "L0H1, L0U1-3", "L0U"])
def test_zeroed_computes_what_the_pruned_model_does(names: str, tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path / "words")
    model = hc.prune(with_units(planted.classifier()), names)
    assert hc.export(model, tokenizer, tmp_path / "whole", to="zeroed") is None
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "whole")
    batch = tokenizer("so good", return_tensors="pt")
    with torch.no_grad():
        torch.testing.assert_close(again(**batch).logits, model(**batch).logits)
    widths = {layer.intermediate.dense.out_features for layer in again.bert.encoder.layer}
    assert widths == {planted.classifier().config.intermediate_size}


def test_what_is_refused(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path / "words")
    with pytest.raises(InvalidOption, match="got to='tflite'; expected one of onnx, zeroed"):
        hc.export(planted.classifier(), tokenizer, tmp_path / "new", to="tflite")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(OutputTaken, match="not empty"):
        hc.export(planted.classifier(), tokenizer, tmp_path / "full", to="zeroed")
