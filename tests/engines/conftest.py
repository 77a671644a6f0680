"""A Ray of this machine's, with two workers that are kept from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headcount.engines.ray_executor import RayExecutor


@pytest.fixture(scope="session")
def two_workers() -> Iterator[RayExecutor]:
    executor = RayExecutor(workers=2)
    yield executor
    executor.close()
