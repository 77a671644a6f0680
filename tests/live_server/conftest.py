"""A browser, and models that are served in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headcount.live_server.live_model import LiveModel
from tests import planted
from tests.live_server import small
from tests.live_server.page_server import PageServer, page_server
from tests.reporting.pages import CHROMIUM, SWITCHES


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield started
        started.close()


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """L0H0 carries the label, L0H1 misleads, L1 does nothing."""
    folder = tmp_path_factory.mktemp("planted") / "model"
    planted.save(folder)
    model, tokenizer = planted.classifier().double(), planted.tokenizer(folder)
    model.config._name_or_path = str(folder)
    with page_server(LiveModel(model, tokenizer, small.EXAMPLES)) as server:
        yield server
