"""Test tiers by flag, and transformers kept quiet."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch
import transformers

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")
    parser.addoption("--gpu", action="store_true", help="also run the tests that need a CUDA device")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for flag in ("slow", "gpu"):
        if not config.getoption(f"--{flag}"):
            for item in items:
                # Not in `item.keywords`: these hold the names of folders too, such as a checkout called gpu.
                if item.get_closest_marker(flag) is not None:
                    item.add_marker(pytest.mark.skip(reason=f"run with --{flag}"))
