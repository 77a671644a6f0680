"""The first screen in a real browser: what it fits on it, what it says, and whether a link brings all of it back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reporting.pages import (
    CHROMIUM,
    OVERFLOW,
    Shelf,
    Visit,
    bright,
    cell,
    choose,
    figures_in,
    grid,
    panel,
    see_wall,
)

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
EFFECT = "Change of accuracy without the head"


def hash_of(page: Any) -> str:
    return str(page.evaluate("location.hash"))


def test_what_the_study_is_about_and_its_numbers(visit: Visit) -> None:
    page = visit("classifier")
    title = page.locator("h1").inner_text()
    for part in ("models/tuned", "3 \u00d7 4 heads", "sst2", "Is the review positive or negative?"):
        assert part in title
    numbers = page.locator(".key-numbers li")
    assert numbers.count() == 4
    assert numbers.nth(2).inner_text().startswith("3 of 12")
    missing = visit("grouped").locator(".key-numbers .missing").all_inner_texts()
    assert len(missing) == 1
    assert "headcount prune measures it" in missing[0]


@pytest.mark.parametrize("question", ["do", "without", "small"])
def test_the_first_screen_needs_no_scrolling(visit: Visit, question: str) -> None:
    page = visit("classifier", tab=question, width=1440, folded=True)
    for part in (".key-numbers", ".tabs", "#centre svg[role=grid]", "#centre .legend"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= 900, part
    assert page.locator("#centre .stage-side > *").first.bounding_box()["y"] < 450


@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize("question", ["do", "without", "small"])
@pytest.mark.parametrize("name", ["classifier", "translation", "grouped", "partial-maps"])
def test_every_tab_fits_every_window(visit: Visit, name: str, question: str, width: int) -> None:
    page = visit(name, tab=question, width=width)
    assert page.evaluate(OVERFLOW) <= 0
    assert grid(page).get_by_role("gridcell").count() >= 4


def test_a_link_brings_the_view_back(visit: Visit) -> None:
    page = visit("classifier", tab="without", color_scheme="light")
    page.locator("#centre .steps button:enabled").first.click()
    kept = bright(page)
    cell(page, "L1H2").hover()
    page.locator(".card").get_by_role("button", name="Pin to compare").click()
    page.get_by_label("Heads of a layer").select_option("value")
    page.get_by_label("Use dark colours").click()
    address = hash_of(page)
    assert all(part in address for part in ("tab=without", "only=", "pins=L1H2", "sort=value", "theme=dark"))
    page = visit("classifier", link=address)
    assert page.locator("#tab-without").get_attribute("aria-selected") == "true"
    assert sorted(bright(page)) == sorted(kept)
    assert page.get_by_label("Heads of a layer").input_value() == "value"
    assert page.get_by_role("button", name="Unpin L1H2").count() == 1
    assert page.get_by_label("Use light colours").count() == 1
    page.locator("#tab-do").click()
    choose(page, "Colour by", EFFECT)
    again = visit("classifier", link=hash_of(page))
    assert EFFECT in grid(again).get_attribute("aria-label")


def test_an_open_head_has_the_view_in_its_link(visit: Visit) -> None:
    page = visit("classifier", tab="without")
    cell(page, "L1H2").click()
    playwright.expect(panel(page).locator("h2")).to_have_text("L1H2")
    assert hash_of(page) == "#L1H2?tab=without"
    page.keyboard.press("Escape")
    assert hash_of(page) == "#?tab=without"
    assert page.locator("#tab-without").get_attribute("aria-selected") == "true"


def test_pinned_heads_side_by_side(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1")
    for _ in range(4):
        panel(page).get_by_role("button", name="Pin to compare").click()
        panel(page).get_by_label("Next head").click()
    page.keyboard.press("Escape")
    strip = page.get_by_role("region", name="Pinned heads")
    assert strip.get_by_role("button", name="Unpin").all_inner_texts() == ["L1H2 ✕", "L1H3 ✕", "L2H0 ✕"], (
        "three at most"
    )
    strip.get_by_role("button", name="Compare").click()
    shown = panel(page).locator(".compared")
    playwright.expect(shown).to_have_count(3)
    assert shown.locator(".head-name h3").all_inner_texts() == ["L1H2", "L1H3", "L2H0"]
    playwright.expect(panel(page).locator("svg[aria-label^='Attention map']")).to_have_count(3)
    tops = {one.bounding_box()["y"] for one in panel(page).locator("svg[aria-label^='Attention map']").all()}
    assert len(tops) == 1, "maps to compare stand at one height"
    assert "compare=yes" in hash_of(page)
    page.keyboard.press("Escape")
    assert panel(page).is_hidden()
    strip.get_by_role("button", name="Unpin L1H3").click()
    assert strip.get_by_role("button", name="Unpin").count() == 2
    cell(page, "L1H2").click()
    panel(page).get_by_role("button", name="Compare the pinned heads").click()
    playwright.expect(panel(page).locator(".compared")).to_have_count(2)
    page.keyboard.press("Escape")
    strip.get_by_role("button", name="Unpin L1H2").click()
    cell(page, "L1H2").click()
    panel(page).get_by_role("heading", name="All its numbers").wait_for()
    assert panel(page).get_by_role("button", name="Compare the pinned heads").count() == 0, "one head is no comparison"


def test_the_hint_is_dismissed_for_good(visit: Visit) -> None:
    page = visit("classifier")
    page.get_by_role("button", name="Got it").click()
    assert page.locator(".hint").count() == 0
    page.reload()
    page.locator("[role=tablist]").wait_for()
    assert page.locator(".hint").count() == 0


def test_the_slider_takes_heads_away_in_the_order_of_the_curve(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="small")
    curve = shelf.result("classifier", "pruning/curve@prune-confirming")
    order = [str(head) for head in curve["sequence"].values[0]]
    slider = page.get_by_label("Heads removed")
    for gone in (0, 5, 12):
        slider.fill(str(gone))
        out = page.locator("#centre .gone").evaluate_all("(all) => all.map((one) => one.ariaLabel.split(':')[0])")
        assert sorted(out) == sorted(order[:gone])
    told = page.locator(".removal-words")
    step = int(curve["removed"].values[0])
    slider.fill(str(step))
    assert f"Without {step} of 12 heads" in told.inner_text()
    assert "random" in told.inner_text()
    assert page.locator(".curve-marker").count() == 1


def test_heads_sorted_by_what_is_shown_and_the_mean_of_a_layer(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    own = shelf.own("classifier", "sweep/head-uniform", "delta")
    page.get_by_label("Heads of a layer").select_option("value")
    rows = grid(page).get_by_role("row").all()
    for row in rows:
        names = row.locator(".cell").evaluate_all("(all) => all.map((one) => one.ariaLabel.split(':')[0])")
        assert [own[name] for name in names] == sorted((own[name] for name in names), reverse=True)
    page.get_by_label("Heads of a layer").select_option("mean")
    said = grid(page).locator(".layer-mean").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    means = [sum(value for head, value in own.items() if head.startswith(f"L{layer}")) / 4 for layer in range(3)]
    assert [float(one.split("mean ")[1]) for one in said] == pytest.approx(means, rel=0.01, abs=1e-4)


def test_arcs_between_words_of_the_head_that_is_pointed_at(visit: Visit, shelf: Shelf) -> None:
    page = visit("partial-maps")
    see_wall(page)
    cell(page, "L1H1").hover()
    arcs = page.locator(".card .word-arc")
    arcs.first.wait_for(state="attached")
    (maps,) = shelf.maps("partial-maps")
    weights = (maps["maps_encoder"].values[1, 1] / 255.0) ** 2
    assert arcs.count() == int((weights.max(1) >= 0.1).sum())


def test_a_sentence_that_goes_on_sideways_says_so(visit: Visit) -> None:
    page = visit("classifier", width=1280)
    arcs, said = page.locator("#centre .arcs"), page.locator("#centre .card-arcs .quiet")
    arcs.wait_for()
    assert "Scroll" not in said.inner_text()
    page = visit("classifier", width=390)
    playwright.expect(said).to_contain_text("Scroll sideways to see all 16 tokens.")
    arcs.evaluate("(one) => { one.scrollLeft = 0; }")
    playwright.expect(arcs).to_have_class("scroll arcs more-after")
    arcs.evaluate("(one) => { one.scrollLeft = one.scrollWidth; }")
    playwright.expect(arcs).to_have_class("scroll arcs more-before")


def test_a_head_that_looks_at_all_words_has_no_arcs_and_says_so(visit: Visit, shelf: Shelf) -> None:
    page = visit("roles", tab="do", width=1280)
    maps = shelf.maps("roles")[0]["maps_encoder"].values
    strongest = {f"L{layer}H{head}": maps[layer, head].max() for layer in range(2) for head in range(maps.shape[1])}
    uniform = min(strongest, key=strongest.__getitem__)
    cell(page, uniform).hover()
    playwright.expect(page.locator("#centre .card-arcs .quiet")).to_contain_text("No word looks at another one")
    assert page.locator("#centre .word-arc").count() == 0


@pytest.mark.parametrize("link", ["#L1H1", "#?pins=L1H1,L1H2,L2H0&compare=yes"])
def test_key_numbers_can_be_read_on_a_phone(visit: Visit, link: str) -> None:
    page = visit("classifier", link=link, width=390)
    drawn = panel(page).locator("svg[aria-label$='among all heads']").first
    drawn.wait_for()
    assert drawn.evaluate("(one) => one.clientWidth / one.viewBox.baseVal.width") > 0.9


def test_a_map_is_enlarged_and_whole_again(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1")
    drawn = panel(page).locator("svg[aria-label^='Attention map']")
    drawn.wait_for()
    count = drawn.locator("text").count()
    panel(page).get_by_label("Zoom into the map").click()
    playwright.expect(drawn.locator("text")).to_have_count(count // 2)
    panel(page).get_by_label("Show the whole map").click()
    playwright.expect(drawn.locator("text")).to_have_count(count)


def test_a_word_is_pinned(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1")
    beams = panel(page).locator("svg[aria-label^='Attention as lines']")
    beams.wait_for()
    whole = beams.locator(".beam").count()
    beams.locator(".pinnable").nth(2).click()
    page.mouse.move(5, 5)
    assert beams.locator(".beam").count() < whole
    assert "Pinned:" in panel(page).locator("section.figure", has_text="As lines between words").last.inner_text()
    beams.locator(".pinnable").nth(2).click()
    page.mouse.move(5, 5)
    assert beams.locator(".beam").count() == whole


def test_flips_in_slices(visit: Visit) -> None:
    page = visit("classifier", link="#L0H3")
    section = panel(page).locator("section", has=page.get_by_role("heading", name="What changes without it"))
    section.wait_for()
    every = section.locator(".badge").all_inner_texts()
    assert {"now wrong", "now right"} >= set(every)
    if len(set(every)) > 1:
        section.get_by_label("Now", exact=True).select_option("now wrong")
        assert set(section.locator(".badge").all_inner_texts()) == {"now wrong"}
        assert section.locator(".badge").count() == every.count("now wrong")
        section.get_by_label("Now", exact=True).select_option("all")
    section.get_by_label("Length", exact=True).select_option("over")
    limit = figures_in(section.get_by_label("Length", exact=True).locator("option").last.inner_text())[0]
    longer = section.locator(".text").all_inner_texts()
    assert 0 < len(longer) <= len(every) / 2
    assert all(len(text.split()) > limit for text in longer)
    section.get_by_label("Length", exact=True).select_option("to")
    assert section.locator(".badge").count() == len(every) - len(longer)


def test_words_of_the_field_are_explained(visit: Visit) -> None:
    page = visit("classifier")
    assert "score of the whole model" in page.locator(".key-numbers .term").first.get_attribute("title")
    assert page.locator(".glossary dt").count() >= 10


def test_how_to_cite(visit: Visit) -> None:
    page = visit("classifier", folded=True)
    page.get_by_role("button", name="Cite").click()
    assert "@misc" in page.locator("#cite pre").inner_text()


def test_on_paper_everything_is_unfolded_and_no_control_is_left(visit: Visit) -> None:
    page = visit("classifier", folded=True)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator(".findings li").first.is_visible()
    assert page.locator(".controls").first.is_hidden()
    assert page.locator("#centre svg[role=grid]").is_visible()
    page.emulate_media(media="screen")
