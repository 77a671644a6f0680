"""Devices that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from headcount.cli.options import load_for_task
from headcount.errors import InvalidOption
from tests import planted


def test_devices_and_number_types(tmp_path: Path) -> None:
    planted.save(tmp_path)
    model, _ = load_for_task(str(tmp_path), "classification", "cpu", "bfloat16")
    assert model.dtype == torch.bfloat16
    with pytest.raises(InvalidOption, match="not here"):
        load_for_task(str(tmp_path), "classification", "cuda:99", "auto")
    with pytest.raises(InvalidOption, match="not here"):
        load_for_task(str(tmp_path), "classification", "abacus", "auto")
