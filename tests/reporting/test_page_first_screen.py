"""What a reader understands in ten seconds: is all of it in the first window, marked, explained and told apart?"""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

import headcount as hc
from tests.reporting.pages import (
    CHROMIUM,
    Shelf,
    Visit,
    bright,
    cell,
    close_to,
    figures_in,
    grid,
    listed,
    panel,
    see_wall,
)

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
PIXEL = """(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3)"""
AT_HOME = ("header.top", ".key-numbers", ".tabs", "#centre .controls", "#centre svg[role=grid]", "#centre .legend")
"""What must lie in the first window, whatever the study."""


@pytest.mark.parametrize("question", ["do", "without", "small"])
@pytest.mark.parametrize("name", ["classifier", "translation", "grouped"])
def test_all_of_it_lies_in_the_first_window(visit: Visit, name: str, question: str) -> None:
    page = visit(name, tab=question, width=1440, folded=True)
    rest = (".card", ".stage-side > .findings > summary", *([".removal"] if name == "classifier" else []))
    for part in (*AT_HOME, *(rest if question == "small" else rest[:2])):
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= 900, part


def test_a_grid_gives_way_to_its_legend(visit: Visit) -> None:
    """In a low window the heads are smaller, and what explains them is still there."""
    page = visit("classifier", tab="without", width=1440, folded=True)
    before = grid(page).bounding_box()["height"]
    page.set_viewport_size({"width": 1440, "height": 560})
    page.reload()
    page.locator("[role=tablist]").wait_for()
    legend = page.locator("#centre .legend").bounding_box()
    assert grid(page).bounding_box()["height"] < before
    assert legend["y"] + legend["height"] <= 640, "the least size of a grid"


def test_the_day_of_the_last_result(visit: Visit, shelf: Shelf) -> None:
    study = shelf.study("partial-maps")
    for file in [study, *study.glob("*/*/zarr.json")]:
        os.utime(file, (1_000_000_000, 1_000_000_000))
    hc.report([study], shelf.place / "partial-maps.html")
    assert visit("partial-maps").locator("h1 .date").inner_text() in ("8 September 2001", "9 September 2001")


def test_a_study_of_maps_opens_with_the_wall_alone(visit: Visit) -> None:
    page = visit("partial-maps", width=1440)
    see_wall(page)
    assert page.locator(".key-numbers").count() == 0
    assert page.get_by_label("Colour by").count() == 0, "there is nothing to choose from"
    assert grid(page).bounding_box()["y"] < 300
    assert page.locator("#tab-do").get_attribute("aria-selected") == "true"


def test_significant_heads_are_marked_among_the_maps(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier")
    q = shelf.own("classifier", "sweep/head-uniform", "q")
    marked = grid(page).locator(".cell:has(.sure-mark)").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert {one.split(":")[0] for one in marked} == {head for head, value in q.items() if value < 0.05}
    assert all("significant" in one for one in marked)
    assert "● without it the score changes significantly" in page.locator("#centre .says").inner_text()
    none = visit("translation").locator("#centre .says").inner_text()
    assert "no head's effect is significant" in none


def test_heads_that_share_keys_and_values_are_joined(visit: Visit) -> None:
    page = visit("grouped", tab="without")
    joined = grid(page).locator("path.shared-keys")
    assert joined.get_attribute("d").count("M") == 2, "two groups of two heads"
    cell(page, "L1H2").hover()
    assert "It shares its keys and values with L1H3." in page.locator(".card").inner_text()
    page.get_by_label("Heads of a layer").select_option("value")
    assert joined.count() == 0, "sorted heads stand beside others"
    page = visit("classifier")
    assert grid(page).locator("path.shared-keys").count() == 0


def test_what_a_head_cannot_see_is_no_weight_of_0(visit: Visit, shelf: Shelf) -> None:
    """Grey beside the diagonal of a causal model, the colour of 0 where a weight is 0."""
    page = visit("grouped", color_scheme="light")
    canvas = page.locator(".card .thumb canvas")
    canvas.wait_for()
    red, green, blue = canvas.evaluate(PIXEL, [3, 1])
    assert max(red, green, blue) - min(red, green, blue) < 12
    assert red < 235
    page = visit("grouped", link="#L1H3")
    panel(page).locator("path.hatch").wait_for()
    whole = panel(page).locator("path.unseen").get_attribute("d").count("M")
    assert whole == 5, "a stretch for each row of 6 tokens but the last"
    panel(page).get_by_label("Zoom into the map").click()
    assert 0 < panel(page).locator("path.unseen").get_attribute("d").count("M") < whole
    page = visit("classifier", link="#L1H1")
    panel(page).locator("svg[aria-label^='Attention map']").wait_for()
    assert panel(page).locator("path.unseen").count() == 0


def test_the_small_map_has_a_scale(visit: Visit) -> None:
    said = visit("classifier").locator(".card .small-scale")
    assert "square root" in said.inner_text()
    assert said.locator("canvas").count() == 1


def test_a_role_in_words_with_its_strength(visit: Visit, shelf: Shelf) -> None:
    page = visit("roles")
    cell(page, "L0H0").hover()
    card = page.locator(".card")
    assert card.locator(".role").inner_text() == "Attends to the previous token"
    value = figures_in(re.search(r"Strength (.*?)\.(?:\s|$)", card.inner_text())[1])[0]
    own = shelf.own("roles", "measures/position", "previous_strength")
    assert value == pytest.approx(own["L0H0"], abs=0.0051)
    assert "does nothing else" in card.locator(".term", has_text="Strength").get_attribute("title")


def test_walls_beside_each_other_follow_the_pointer(visit: Visit) -> None:
    page = visit("classifier")
    walls = page.locator("section.figure", has=page.get_by_role("heading", name="Before and after fine-tuning"))
    assert walls.locator("figcaption").all_inner_texts() == ["before: before", "after: tuned"]
    walls.locator("[data-head='6']").last.hover()
    assert page.locator(".card h2").inner_text() == "L1H2"
    tip = page.get_by_role("status")
    assert tip.first.is_visible()
    assert "L1H2" in tip.first.inner_text()


def test_a_line_around_points_of_the_map_of_heads(visit: Visit) -> None:
    page = visit("classifier")
    drawn = page.locator("#alike svg.drawing")
    drawn.scroll_into_view_if_needed()
    dot = drawn.locator("[data-point='6']").bounding_box()
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    page.mouse.move(x - 12, y - 12)
    page.mouse.down()
    for at in ((x + 12, y - 12), (x + 12, y + 12), (x - 12, y + 12)):
        page.mouse.move(*at)
    page.mouse.up()
    assert "L1H2" in listed(page)
    assert sorted(bright(page)) == sorted(listed(page)), "the grid keeps them too"
    page.get_by_role("button", name="Show all heads again").click()
    assert len(bright(page)) == 12


def test_a_link_has_the_slider_and_the_model_of_the_maps(visit: Visit) -> None:
    page = visit("classifier", tab="small")
    page.get_by_label("Heads removed").fill("5")
    address = page.evaluate("location.hash")
    assert "removed=5" in address
    page = visit("classifier", link=address)
    assert page.get_by_label("Heads removed").input_value() == "5"
    assert page.locator("#centre .gone").count() == 5
    page.locator("#tab-do").click()
    page.get_by_label("Maps of", exact=True).select_option("before: before")
    address = page.evaluate("location.hash")
    page = visit("classifier", link=address)
    assert page.get_by_label("Maps of", exact=True).locator("option:checked").inner_text() == "before: before"


def test_on_a_phone_all_three_questions_are_in_sight(visit: Visit) -> None:
    page = visit("classifier", width=390)
    for tab in page.get_by_role("tab").all():
        box = tab.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_the_number_that_all_studies_share(visit: Visit, shelf: Shelf) -> None:
    """Of two studies, one without a sweep of heads: what both measured comes first, on one scale."""
    page = visit("other", "partial-measures")
    shown = page.get_by_label("Compare by").locator("option:checked").inner_text()
    assert shown.endswith("(all studies)")
    assert page.locator(".small-multiple", has_text="did not measure it").count() == 0
    page.get_by_label("Compare by").select_option("effect")
    assert "partial-measures did not measure it" in page.locator(".multiples").inner_text()
    again = visit("other", "partial-measures", link=page.evaluate("location.hash"))
    assert again.get_by_label("Compare by").input_value() == "effect"


def test_the_effects_of_two_studies_have_one_scale(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", "other")
    most = max(
        abs(value)
        for name, how in (("classifier", "uniform"), ("other", "zero"))
        for value in shelf.own(name, f"sweep/head-{how}", "delta").values()
    )
    ends = page.locator(".small-multiple .scale").all_inner_texts()
    assert [figures_in(one)[:2] for one in ends] == [[close_to(-most), close_to(most)]] * 2
    assert page.locator(".small-multiple", has_text="Replacement: zero.").count() == 1


def test_what_goes_last_stands_out_on_dark_paper_too(visit: Visit, shelf: Shelf) -> None:
    curve = shelf.result("classifier", "pruning/curve@prune-confirming")
    first, last = (str(curve["sequence"].values[0][at]) for at in (0, -1))
    for scheme, sign in (("light", -1), ("dark", 1)):
        page = visit("classifier", tab="small", color_scheme=scheme)
        names = grid(page).locator(".cell").evaluate_all("(all) => all.map((one) => one.ariaLabel.split(':')[0])")
        light = {name: sum(figures_in(fill)) for name, fill in zip(names, rgb_of(page), strict=True)}
        assert sign * (light[last] - light[first]) > 0


def rgb_of(page: Any) -> list[str]:
    return list(grid(page).locator(".face").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fill)"))
