"""Patches in a real browser: the map of heads and positions, one pair of inputs, a head's bars, words and sizes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reporting.pages import CHROMIUM, OVERFLOW, TEXTS, Shelf, Visit, choose, figures_in, saved, values_of

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")


def cells(page: Any) -> list[str]:
    return list(page.locator(".position-map .cell").evaluate_all("(all) => all.map((one) => one.ariaLabel)"))


def test_the_grid_starts_with_shares(visit: Visit, shelf: Shelf) -> None:
    page = visit("patched", tab="without")
    assert values_of(page) == pytest.approx(shelf.own("patched", "sweep/head-patch", "share"), abs=1e-3)
    said = "Share of the difference in log_probability, corrupted input with a head from the clean one at 'first'"
    choose(page, "Colour by", said)
    assert values_of(page) == pytest.approx(shelf.own("patched", "sweep/head-patch-first", "share"), abs=1e-3)


def test_the_map_has_the_numbers_of_the_study(visit: Visit, shelf: Shelf) -> None:
    page = visit("patched", tab="without")
    share = shelf.result("patched", "sweep/position-patch")["share"].values.reshape(4, 4)
    found = cells(page)
    assert len(found) == 16
    assert found[0].startswith("L0H0 at start: 1.000 [1.000, 1.000]")
    assert found[0].endswith("significant")
    numbers = [figures_in(each.split(": ")[1])[0] for each in found]
    assert numbers == pytest.approx(share.ravel(), abs=1e-3)
    page.locator(".position-map .cell").first.dispatch_event("mouseenter")
    assert "q = " in page.locator(".tip").inner_text()
    name, content = saved(page, page.get_by_label("CSV of Which heads matter where"))
    assert name.startswith("which-heads-matter-where")
    assert content.decode().splitlines()[:2][1].startswith("BertForSequenceClassification,sst2,L0H0,start,1,1,1,")


def test_one_pair_of_inputs(visit: Visit, shelf: Shelf) -> None:
    page = visit("patched", tab="without")
    result = shelf.result("patched", "sweep/position-patch")
    page.get_by_label("Pairs of inputs").select_option("5")
    shown = page.locator(".both-inputs dd")
    assert shown.nth(0).inner_text() == str(result["text"].values[5])
    assert shown.nth(1).inner_text() == str(result["counterpart"].values[5])
    assert {shown.nth(at).locator("mark").inner_text() for at in (0, 1)} == {"good", "bad"}
    assert not any("[" in each or "significant" in each for each in cells(page)), "one example has no interval"
    page.get_by_label("Pairs of inputs").select_option("")
    assert page.locator(".both-inputs").count() == 0


def test_a_head(visit: Visit) -> None:
    page = visit("patched", tab="without")
    page.locator(".position-map .cell").first.click()
    panel = page.locator("#head")
    panel.get_by_role("heading", name="Where it matters").wait_for()
    said = panel.inner_text()
    assert "On the corrupted input with it from the clean one the share is 1.000 [1.000, 1.000], significant." in said
    assert "What changes with it from the other input" in said
    assert "as on the clean input" in said
    assert panel.locator("svg[aria-label$='by position'] .whisker").count() == 4


def test_nothing_is_without_a_head(visit: Visit) -> None:
    page = visit("patched", link="#L0H0", tab="without")
    page.locator("#head h3").first.wait_for()
    said = page.locator("#head").inner_text() + page.locator("#body").inner_text().split("What this study does not")[0]
    assert "ithout" not in said


@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits(visit: Visit, width: int) -> None:
    page = visit("patched", link="#L0H0", tab="without", width=width)
    page.locator("#head h3").first.wait_for()
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(TEXTS, "#head") == []
    assert page.evaluate(TEXTS, "#body") == []
