"""A budget in a real browser: the curve and its axes, the slider, bars by stack, words and sizes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.reporting.pages import CHROMIUM, OVERFLOW, TEXTS, Shelf, Visit, assert_drawing, saved

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")


def rows(page: Any) -> list[str]:
    """What the bars say, layer by layer: heads, then units."""
    return list(page.locator(".budget .small-multiple g title").evaluate_all("(all) => all.map((e) => e.textContent)"))


def told(page: Any) -> str:
    return str(page.locator(".budget .told").inner_text())


def test_the_selected_step_is_shown_first(visit: Visit, shelf: Shelf) -> None:
    page = visit("budget", tab="small")
    stored = shelf.result("budget", "pruning/budget@prune-confirming").isel(order=0, step=2)
    heads, units = (stored[f"{kind}_left"].values[0].astype(int) for kind in ("heads", "units"))
    assert rows(page) == [
        said
        for layer, (some, more) in enumerate(zip(heads, units, strict=True))
        for said in (f"L{layer}: {some} of 12 heads left", f"L{layer}: {more:,} of 1,536 units left")
    ]
    assert "selected" in told(page)
    assert f"{heads.sum()} of 144 heads, {units.sum():,} of 18,432 units left" in told(page)
    assert "2.00 [1.94, 2.06] times as fast" in told(page)
    assert page.locator(".budget svg.drawing .chosen-step").count() == 1
    assert page.locator(".budget svg.drawing .shown-step").count() == 0


def test_the_slider_and_the_keyboard(visit: Visit, shelf: Shelf) -> None:
    page = visit("budget", tab="small")
    slider = page.get_by_label("Step", exact=True)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "both, 65 % of the operations"
    stored = shelf.result("budget", "pruning/budget@prune-confirming").isel(order=0, step=1)
    assert rows(page)[0] == f"L0: {int(stored['heads_left'].values[0, 0])} of 12 heads left"
    assert page.locator(".budget svg.drawing .shown-step").count() == 1
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "both, 50 % of the operations, selected"
    page.locator(".budget").get_by_label("What is removed").select_option(label="heads only")
    assert told(page) == "heads only, 50 % of the operations: not reached."
    assert rows(page) == []


def test_points_say_and_show_their_step(visit: Visit) -> None:
    page = visit("budget", tab="small")
    points = page.locator(".budget .step")
    assert points.count() == 6, "four steps of both, two of heads only"
    assert points.nth(2).get_attribute("aria-label").startswith("both, 50 % of the operations, selected: ")
    points.nth(4).dispatch_event("mouseenter")
    assert "heads only, 80 % of the operations" in page.locator(".tip").inner_text()
    points.nth(4).dispatch_event("click")
    assert told(page).startswith("heads only, 80 % of the operations: ")
    assert "1,536 of 1,536 units left" in rows(page)[1], "heads only leave the units alone"


def test_other_axes(visit: Visit) -> None:
    page = visit("budget", tab="small")
    curve = page.locator(".budget svg[aria-label^='accuracy against']")
    assert curve.get_attribute("aria-label") == "accuracy against Measured speed (times the whole model's)"
    page.get_by_label("Against", exact=True).select_option(label="Operations left")
    assert curve.get_attribute("aria-label") == "accuracy against Operations left (%)"
    page.get_by_label("Against", exact=True).select_option(label="Parameters left")
    assert curve.get_attribute("aria-label") == "accuracy against Parameters left (%)"
    places = page.locator(".budget .step circle:nth-of-type(2)").evaluate_all(
        "(all) => all.map((e) => +e.getAttribute('cx'))"
    )
    assert places[:4] == sorted(places[:4]), "smaller models are to the right"


def test_the_caption_says_on_which_examples_and_where_speed_was_measured(visit: Visit) -> None:
    page = visit("budget", tab="small")
    caption = page.locator(".budget .caption").first.inner_text()
    assert "accuracy on 10,000 held-out examples" in caption
    assert "selected on the other 10,000 examples" in caption
    assert "measured at batch 16, length 128" in caption


def test_nothing_selected(visit: Visit) -> None:
    page = visit("unchosen", tab="small")
    caption = page.locator(".budget .caption").first.inner_text()
    assert "No step was selected on the other 10,000 examples (budget weights=9%). Speed was not measured." in caption
    assert page.locator(".budget .chosen-step").count() == 0
    assert page.get_by_label("Against", exact=True).locator("option").all_inner_texts() == [
        "Operations left",
        "Parameters left",
    ]
    assert page.locator(".budget figcaption").all_inner_texts() == ["encoder", "decoder", "cross"]
    assert sum("units" in row for row in rows(page)) == 5, "cross-attention has no units"


def test_downloads(visit: Visit) -> None:
    page = visit("budget", tab="small")
    name, content = saved(page, page.get_by_label("CSV of How small the model can be"))
    assert name.startswith("how-small-the-model-can-be")
    assert content.decode().splitlines()[0] == "model,task,order,step,speed,operations,weights,score,low,high,p"
    assert len(content.decode().splitlines()) == 1 + 4 * 4
    _, content = saved(page, page.get_by_label("CSV of What is left of each layer"))
    assert re.match(r"models/tuned,sst2,both,0.8,encoder,0,\d+,12,\d+,1536", content.decode().splitlines()[1])
    for title in ("How small the model can be", "What is left of each layer"):
        _, content = saved(page, page.get_by_label(f"SVG of {title}"))
        assert_drawing(content)


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("study", ["budget", "unchosen"])
def test_it_fits(visit: Visit, study: str, width: int) -> None:
    page = visit(study, tab="small", width=width)
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(TEXTS, "#body") == []
