"""Devices that are here, and what is said of others."""

from __future__ import annotations

import pytest
import torch

from headcount.errors import InvalidOption
from headcount.models.device import find_device


def test_auto_is_a_gpu_where_there_is_one() -> None:
    assert find_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    assert find_device("cpu") == "cpu"


def test_a_name_that_means_nothing() -> None:
    with pytest.raises(InvalidOption, match="got the device 'abacus', which is not here; expected cpu, cuda,"):
        find_device("abacus")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:99"])
def test_no_gpu(device: str) -> None:
    with pytest.raises(InvalidOption, match=f"'{device}', which is not here; there is no GPU that torch can use: give"):
        find_device(device)


@pytest.mark.parametrize(("count", "there"), [(1, "cuda:0 alone"), (4, "cuda:0 to cuda:3 alone")])
def test_a_gpu_with_too_high_a_number(count: int, there: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    with pytest.raises(InvalidOption, match=there):
        find_device("cuda:99")
