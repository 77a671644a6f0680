"""Devices that are not there, number types, and what comes with the package by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import headcount as hc
from headcount.cli.options import load_for_task, load_model_and_tokenizer
from headcount.errors import InvalidOption
from tests import planted


def test_devices_and_number_types(tmp_path: Path) -> None:
    planted.save(tmp_path)
    model, _ = load_for_task(str(tmp_path), "classification", "cpu", "bfloat16")
    assert model.dtype == torch.bfloat16
    with pytest.raises(InvalidOption, match="--device cpu"):
        load_for_task(str(tmp_path), "classification", "cuda:99", "auto")
    with pytest.raises(InvalidOption, match="not here"):
        load_for_task(str(tmp_path), "classification", "abacus", "auto")


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16])
def test_half_precision_is_for_storing_on_a_cpu(tmp_path: Path, stored: torch.dtype) -> None:
    planted.classifier().to(stored).save_pretrained(tmp_path)
    planted.tokenizer(tmp_path).save_pretrained(tmp_path)
    assert hc.load(tmp_path)[0].dtype == stored
    for load in (load_model_and_tokenizer, lambda *more: load_for_task(more[0], "classification", *more[1:])):
        model, tokenizer = load(str(tmp_path), "cpu", "auto")
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
        with torch.no_grad():
            assert model(**tokenizer("so good", return_tensors="pt")).logits.dtype == torch.float32
    asked, _ = load_model_and_tokenizer(str(tmp_path), "cpu", "float16")
    assert {parameter.dtype for parameter in asked.parameters()} == {torch.float16}
