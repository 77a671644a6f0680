"""Pairs on the page, in a real browser: arcs of two colours, filters, numbers on hover, a pinned pair, the file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from tests import planted
from tests.pruning import jobs
from tests.reporting.pages import CHROMIUM, OVERFLOW, Shelf, Visit, saved

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model has pairs of both kinds."""
    folder = tmp_path_factory.mktemp("pairs")
    tokenizer = planted.tokenizer(folder / "tokenizer")
    study = folder / "study"
    hc.sweep(jobs.random_model(), tokenizer, planted.texts(), task="sst2", by=hc.Pairs("all"), metric="loss", out=study)
    return hc.report(study, folder / "pairs.html")


def open_page(visit: Visit, shelf: Shelf, page_file: Path, **options: Any) -> Any:
    if not (shelf.place / "pairs.html").exists():
        shutil.copy(page_file, shelf.place / "pairs.html")
    return visit("pairs", tab="without", **options)


def counts(page: Any) -> tuple[int, int, int]:
    drawn = page.locator("svg.heads .pair-arc")
    kinds = ("pair-redundant", "pair-synergistic", "pair-none")
    classes = [arc.get_attribute("class") or "" for arc in drawn.all()]
    redundant, synergistic, none = (sum(kind in one for one in classes) for kind in kinds)
    return redundant, synergistic, none


def test_arcs_filters_and_the_pinned_pair(visit: Visit, shelf: Shelf, page_file: Path) -> None:
    page = open_page(visit, shelf, page_file)
    result = hc.open_study(page_file.parent / "study")["sweep/pair-zero"].to_dataset()
    kinds = result["kind"].values
    redundant, synergistic = int((kinds == 1).sum()), int((kinds == 2).sum())
    assert redundant
    assert synergistic
    assert counts(page) == (redundant, synergistic, 0), "at first the significant ones"
    page.get_by_label("Pairs", exact=True).select_option("1")
    assert counts(page) == (redundant, 0, 0)
    page.get_by_label("Pairs", exact=True).select_option("0")
    page.get_by_label("q < 0.05 only").uncheck()
    assert sum(counts(page)) == 60, "the strongest of 66"
    strongest = str(result["strongest"].values)
    button = page.locator("table.pairs").get_by_role("button", name=strongest, exact=True)
    button.click()
    assert page.locator(".pair-arc.faded").count() == 59
    button = page.locator("table.pairs").get_by_role("button", name=strongest, exact=True)
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert page.locator(".pair-arc.faded").count() == 0
    name, content = saved(page, page.get_by_label("CSV of Heads together"))
    lines = content.decode("utf-8").splitlines()
    assert name.startswith("heads-together")
    assert len(lines) == 67
    assert lines[0].startswith("model,task,interaction_in,first,second,kind,interaction,low,high,q")


def test_numbers_on_hover(visit: Visit, shelf: Shelf, page_file: Path) -> None:
    page = open_page(visit, shelf, page_file)
    page.locator(".pair-arc .wide-target").last.dispatch_event("mouseenter")
    page.locator("svg.heads .pair-arc").last.dispatch_event("mouseenter")
    said = page.locator(".tip").inner_text()
    strongest = str(hc.open_study(page_file.parent / "study")["sweep/pair-zero"]["strongest"].values)
    assert said.startswith(strongest)
    assert "interaction in loss:" in said
    assert "without both:" in said
    page.locator("svg.heads .pair-arc").last.dispatch_event("mouseleave")
    assert page.locator(".tip").is_hidden()


@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits(visit: Visit, shelf: Shelf, page_file: Path, width: int) -> None:
    page = open_page(visit, shelf, page_file, width=width)
    assert page.evaluate(OVERFLOW) <= 0
