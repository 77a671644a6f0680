"""Test tiers by flag, threads by OMP_NUM_THREADS, float64 models that stay float64, and transformers kept quiet."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch
import transformers

# What was imported and collected stays: by default, walking through it for garbage takes some 7 % of a run's time.
gc.set_threshold(20_000, 20, 20)
# One thread unless OMP_NUM_THREADS says otherwise, here and in the processes that tests start: `make test-kernels`.
torch.set_num_threads(int(os.environ.setdefault("OMP_NUM_THREADS", "1")))
transformers.logging.set_verbosity_error()
# How long an example takes is no property: a busy machine would fail.
with suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("any machine", deadline=None)
    settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def _softmax_keeps_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager attention of many families asks for a softmax in float32 whatever the model's dtype.

    In a float64 model the mask's lowest number is then minus infinity, and a row that may attend to nothing is NaN.
    """
    softmax = torch.nn.functional.softmax

    def keeping(scores: torch.Tensor, *args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> torch.Tensor:
        return softmax(scores, *args, dtype=None if scores.dtype == torch.float64 else dtype, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "softmax", keeping)


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch after the other, however many threads there may be: for tests of what happens in which order."""
    monkeypatch.setattr("headcount.engines.workers.count_cores", lambda: 1)


@pytest.fixture(autouse=True)
def _nothing_compiled_yet() -> None:
    """Forget what earlier tests compiled: where anything was, a context without a pass warns."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is not None:
        dynamo.counters.clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")
    parser.addoption("--gpu", action="store_true", help="also run the tests that need a CUDA device")


def pytest_collection_finish() -> None:
    """What is imported and collected by now stays: the garbage collector need not walk through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for flag in ("slow", "gpu"):
        if not config.getoption(f"--{flag}"):
            for item in items:
                # Not in `item.keywords`: these hold the names of folders too, such as a checkout called gpu.
                if item.get_closest_marker(flag) is not None:
                    item.add_marker(pytest.mark.skip(reason=f"run with --{flag}"))
