"""The tokenizer of the planted words."""

from __future__ import annotations

from typing import Any

import pytest

from tests import planted


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))
