"""Can the page be used without a mouse and without eyes? By axe-core's rules, and by the keyboard alone."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.reporting.pages import CHROMIUM, Visit, focused, listed, panel, see_wall

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
AXE = Path(str(files("headcount.reporting"))) / "page" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => (await axe.run(document, { resultTypes: ['violations'] })).violations.flatMap((one) =>
  one.nodes.map((node) => `${one.id}: ${node.target.join(' ')}: ${node.failureSummary}`))"""


def violations(page: Any) -> list[str]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return list(page.evaluate(RUN))


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm ci in src/headcount/reporting/page")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("names", "head"),
    [
        (("classifier",), "L1H1"),
        (("grouped",), "L1H3"),
        (("translation",), "cross.L0H1"),
        (("classifier", "other", "pruned"), "L2H1"),
        (("partial-maps",), "L1H0"),
        (("budget",), ""),
    ],
    ids=["classifier", "decoder", "encoder-decoder", "several", "maps", "budget"],
)
def test_no_rule_is_broken(visit: Visit, names: tuple[str, ...], head: str, scheme: str) -> None:
    page = visit(*names, color_scheme=scheme)
    for tab in ("do", "without", "small"):
        page.locator(f"#tab-{tab}").click()
        assert violations(page) == [], tab
    if head:
        page.locator("#tab-do").click()
        page.evaluate(f"location.hash = '#{head}'")
        panel(page).get_by_role("heading", name="All its numbers").wait_for()
        assert violations(page) == []


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm ci in src/headcount/reporting/page")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_broken_side_by_side(visit: Visit, scheme: str) -> None:
    page = visit("classifier", link="#?pins=L0H3,L1H2,L2H0&compare=yes", color_scheme=scheme)
    playwright.expect(panel(page).locator(".compared svg[aria-label^='Attention map']")).to_have_count(3)
    assert violations(page) == []


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_everything_by_keyboard_alone(visit: Visit, width: int) -> None:
    """From the skip link to a head, its page and back, to another tab, and to a pinned comparison."""
    page = visit("classifier", width=width, folded=True)
    see_wall(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the heads"
    page.keyboard.press("Enter")
    assert focused(page) == "L0H0"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    playwright.expect(panel(page).locator("h2")).to_have_text("L0H1")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        inside = page.evaluate(
            "document.activeElement.closest('#head') !== null || document.activeElement === document.body"
        )
        assert inside, "what lies behind an open head is out of reach"
        seen.add(page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''"))
        if "Close" in seen:
            break
    assert {"Next head", "Pin to compare", "Close"} <= seen
    page.keyboard.press("Escape")
    assert focused(page) == "L0H1"
    page.locator("#tab-do").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-without"
    assert page.locator("#tab-without").get_attribute("aria-selected") == "true"
    page.keyboard.press("End")
    playwright.expect(page.get_by_label("Heads removed")).to_be_visible()
    slider = page.get_by_label("Heads removed")
    slider.focus()
    page.keyboard.press("Home")
    assert page.locator("#centre .gone").count() == 0
    page.keyboard.press("ArrowRight")
    assert page.locator("#centre .gone").count() == 1
    page.keyboard.press("End")
    assert page.locator("#centre .gone").count() == 12


def test_the_table_is_one_stop(visit: Visit) -> None:
    page = visit("classifier", tab="without")
    assert page.locator("#list tbody [tabindex='0']").count() == 1
    page.locator("#list tbody [tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == listed(page)[1]
    assert page.locator("#list tbody [tabindex='0']").count() == 1


def test_an_open_head_is_a_dialog_with_the_page_behind_out_of_reach(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1")
    assert panel(page).get_attribute("role") == "dialog"
    assert panel(page).get_attribute("aria-modal") == "true"
    assert page.evaluate("[...document.querySelectorAll('header.top, main')].every((one) => one.inert)")
    page.keyboard.press("Escape")
    assert page.evaluate("[...document.querySelectorAll('header.top, main')].every((one) => !one.inert)")


def test_what_is_used_keeps_the_focus(visit: Visit) -> None:
    page = visit("classifier", tab="without")
    for label in ("only significant ones", "Heads of a layer", "Colour by"):
        control = page.locator("#centre").get_by_label(label)
        control.focus()
        if label.startswith("only"):
            page.keyboard.press("Space")
        else:
            page.keyboard.press("ArrowDown")
        tag = page.evaluate("document.activeElement.tagName")
        assert tag in ("INPUT", "SELECT"), label
    find = page.get_by_label("Find a head")
    find.focus()
    page.keyboard.type("L1H")
    assert find.input_value() == "L1H"


def test_the_map_and_the_points_in_words(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1", folded=True)
    panel(page).locator("svg[aria-label^='Attention map']").wait_for()
    panel(page).get_by_text("In words: where each token looks most").click()
    said = panel(page).locator(".in-words li").all_inner_texts()
    assert said
    assert all(" → " in one and ": " in one for one in said)
    page.keyboard.press("Escape")
    page.locator("#tab-without").click()
    page.get_by_text("In words: the heads at both ends").click()
    assert page.locator("#explore .in-words li").count() == 6


def test_the_map_is_walked_with_the_arrow_keys(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1")
    drawn = panel(page).locator("svg[aria-label^='Attention map']")
    drawn.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    names = drawn.locator("text").all_text_contents()
    told = panel(page).locator(".told").first.inner_text()
    assert told.startswith(f"{names[1]} → {names[len(names) // 2 + 1]}: ")
