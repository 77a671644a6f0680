"""A browser, the pages of studies, and a tab that complains of every request and every error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.reporting.pages import CHROMIUM, SWITCHES, Shelf, Tab, Visit, unfold


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield started
        started.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Tab]:
    """One for all tests that want nothing special: opening one takes longer than most of them."""
    made = Tab(browser)
    yield made
    made.context.close()


@pytest.fixture
def visit(browser: Any, shelf: Shelf, tab: Tab) -> Iterator[Visit]:
    """Open a page of some studies, unfolded; at the end of every test: it asked for and complained of nothing."""
    tab.problems.clear()
    opened = [tab]

    def go(*names: str, link: str = "", tab: str = "", width: int = 1280, folded: bool = False, **options: Any) -> Any:
        if options:
            opened.append(Tab(browser, **options))
        page = opened[-1].open(shelf.page(*names), f"{link or '#'}?tab={tab}" if tab else link, width)
        if options.get("java_script_enabled", True):
            page.locator("[role=tablist]").wait_for()
            if not folded:
                unfold(page)
        return page

    yield go
    for other in opened[1:]:
        other.context.close()
    assert [problem for one in opened for problem in one.problems] == []
