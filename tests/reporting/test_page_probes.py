"""Heads beside annotations on the page, in a real browser: rows, sentences with arcs, the colour and its filter."""

from __future__ import annotations

import re
from typing import Any

import pytest

from headcount.reporting.document import make_page
from tests.reporting import studies
from tests.reporting.pages import (
    CHROMIUM,
    OVERFLOW,
    Shelf,
    Visit,
    bright,
    choose,
    close_to,
    figures_in,
    grid,
    listed,
    names_of,
    panel,
    saved,
)
from tests.reporting.probed import HEADS, arcs, both, coreference, view_of

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")


@pytest.fixture
def mentions(shelf: Shelf) -> str:
    """The page of a kind that the page does not know."""
    out = shelf.place / "mentions.html"
    if not out.exists():
        out.write_text(make_page([(both(), "mentions")]), encoding="utf-8")
    return "mentions"


def rows(page: Any) -> Any:
    return page.locator("table.probe tbody tr:not(.sentences)")


def row(page: Any, relation: str) -> Any:
    return rows(page).filter(has=page.locator("th", has_text=re.compile(f"^{re.escape(relation)}$")))


def opened(page: Any) -> Any:
    return page.locator("table.probe tr.sentences:visible")


def test_a_study_of_nothing_else_is_a_whole_page(visit: Visit, shelf: Shelf) -> None:
    page = visit("probed")
    assert "finds the syntactic head of" in page.locator(".findings").inner_text()
    assert "no complete result" not in page.locator("body").inner_text()
    assert grid(page).get_by_role("gridcell").count() == 16
    own = shelf.result("probed", "probe/dependencies").sel(relation="det")
    told = row(page, "det")
    assert told.locator("td").nth(0).inner_text() == "L0H3"
    assert figures_in(told.locator("td.right").first.inner_text())[0] == close_to(float(own["gain"]))
    assert told.locator("td.right").nth(1).inner_text() == str(int(own["held_out_cases"]))


def test_rows_by_gain_with_a_mark_for_each_baseline(visit: Visit, mentions: str) -> None:
    page = visit(mentions)
    assert rows(page).locator("th").all_inner_texts() == ["pronoun", "all", "proper", "nominal"]
    legend = page.locator("section.figure", has=page.locator("table.probe")).locator(".kinds").first
    assert legend.locator("li").all_inner_texts()[:4] == ["Best head", "Nearest mention", "Alphabet", "Rules"]
    drawn = row(page, "pronoun").get_by_role("img").last
    assert drawn.get_attribute("aria-label").startswith("Best head: 0.700 [0.620, 0.780], Nearest mention: 0.300")
    assert drawn.locator(".mark").count() == 3
    assert len(set(drawn.locator(".mark").evaluate_all("(all) => all.map((one) => one.getAttribute('fill'))"))) == 3
    assert row(page, "pronoun").locator("td.right").first.inner_text().endswith("●")
    assert not row(page, "proper").locator("td.right").first.inner_text().endswith("●")
    arrows = [row(page, name).locator("span[role=img]") for name in ("pronoun", "proper")]
    assert [(one.inner_text(), one.get_attribute("title")) for one in arrows] == [("→", "to"), ("←", "from")]
    caption = page.locator("section.figure", has=page.locator("table.probe")).locator(".caption").first.inner_text()
    assert "How often a mention attends to an antecedent (Clark 2019, 4.3)." in caption
    assert "selected on one half" in caption


def test_a_click_on_a_row_shows_sentences_with_both_arcs(visit: Visit, mentions: str) -> None:
    page = visit(mentions)
    assert opened(page).count() == 0
    row(page, "pronoun").locator("td").nth(2).click()
    assert opened(page).count() == 1
    drawings = opened(page).locator("svg.drawing")
    assert drawings.count() == 2
    words = drawings.nth(0).locator("text.word").evaluate_all("(all) => all.map((one) => one.firstChild.data)")
    assert words == ["Ann", "said", "she", "slept"]
    assert drawings.nth(0).locator(".arc").count() == 2
    assert drawings.nth(0).locator(".arc:not(.true-arc)").get_attribute("class") == "arc right-arc"
    assert drawings.nth(1).locator(".arc:not(.true-arc)").get_attribute("class") == "arc wrong-arc"
    dashes = drawings.nth(1).locator(".true-arc path").first.evaluate("(one) => getComputedStyle(one).strokeDasharray")
    assert dashes != "none"
    colours = (
        drawings.nth(0)
        .locator(".arc path:first-child")
        .evaluate_all("(all) => all.map((one) => getComputedStyle(one).stroke)")
    )
    assert colours[0] == colours[1], "when it is right, what is predicted and what is annotated have one colour"
    assert drawings.nth(1).get_attribute("aria-label").endswith("him: Cy, wrong, annotated is Bo.")
    row(page, "pronoun").locator("td").nth(2).click()
    assert opened(page).count() == 0


def test_arcs_start_and_end_at_their_words(visit: Visit, mentions: str) -> None:
    page = visit(mentions)
    row(page, "pronoun").locator("th button").click()
    boxes = (
        opened(page)
        .locator("svg.drawing")
        .nth(1)
        .evaluate(
            """(svg) => {
          const box = (one) => one.getBoundingClientRect();
          const words = [...svg.querySelectorAll('.word')].map(box);
          const arcs = [...svg.querySelectorAll('.arc')].map((one) => box(one.firstChild));
          return { words: words.map((b) => [b.left, b.right, b.top]), arcs: arcs.map((b) => [b.left, b.right, b.top]) };
        }"""
        )
    )
    (predicted, true), words = boxes["arcs"], boxes["words"]
    assert words[2][0] <= predicted[0] <= words[2][1]
    assert words[4][0] <= predicted[1] <= words[4][1]
    assert words[0][0] <= true[0] <= words[0][1]
    assert predicted[2] < words[0][2] < true[2], "what is predicted above the words, what is annotated below"


def test_by_keyboard(visit: Visit, mentions: str) -> None:
    page = visit(mentions)
    button = row(page, "pronoun").locator("th button")
    button.focus()
    assert button.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert page.locator(f"#{button.get_attribute('aria-controls')}").is_visible()
    page.keyboard.press("Enter")
    assert opened(page).count() == 0


def test_a_head_opens_its_page_and_not_its_sentences(visit: Visit, mentions: str) -> None:
    page = visit(mentions)
    row(page, "pronoun").get_by_role("button", name="Show L1H0").click()
    playwright.expect(panel(page).locator("h2")).to_have_text("L1H0")
    assert "Best head for pronoun (coreference)." in panel(page).inner_text()
    assert opened(page).count() == 0
    assert row(page, "nominal").locator("td").first.get_by_role("button").count() == 0, "L0H0 has no number"
    assert row(page, "all").locator("th button").count() == 0, "it has no sentences"


def test_arcs_that_lead_nowhere_are_not_drawn(visit: Visit, mentions: str) -> None:
    """To no word, or to the word itself."""
    page = visit(mentions)
    row(page, "nominal").locator("th button").click()
    drawing = opened(page).locator("svg.drawing")
    assert drawing.locator(".true-arc").count() == 2
    assert drawing.locator(".arc:not(.true-arc)").count() == 0
    assert "0 of 2 right" in opened(page).inner_text()


def test_heads_are_coloured_and_filtered_by_relation(visit: Visit, mentions: str) -> None:
    page = visit(mentions)
    title = "The relation it follows best (coreference)"
    assert names_of(page) == {"L0H1": f"{title} pronoun", "L1H0": f"{title} proper", "L1H1": f"{title} none shown"}
    kind = page.locator("#centre .legend button.kind")
    kind.filter(has_text="proper").click()
    assert bright(page) == listed(page) == ["L1H0"]
    kind.filter(has_text="proper").click()
    kind.filter(has_text="none shown").click()
    assert bright(page) == ["L1H1"]
    choose(page, "Colour by", "Links mentions, above the nearest")
    assert bright(page) == ["L0H1", "L1H0", "L1H1"]


def test_the_table_can_be_saved(visit: Visit, mentions: str) -> None:
    page = visit(mentions)
    name, content = saved(page, page.get_by_label("CSV of Best heads: coreference"))
    lines = content.decode("utf-8").splitlines()
    assert name.endswith(".csv")
    assert len(lines) == 5
    assert lines[1].startswith("m,,pronoun,L1H0,to,40,0.7,0.62,0.78")


@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_into_the_window(visit: Visit, shelf: Shelf, width: int) -> None:
    long = [(["considerable"] * 24, [[number, 23 - number, 0] for number in range(1, 24)])]
    out = shelf.place / "long.html"
    if not out.exists():
        view = view_of({"probe/c": coreference(), "arcs/c": arcs(sentences={"pronoun": long})})
        out.write_text(make_page([(view, "long")]), encoding="utf-8")
    page = visit("long", width=width)
    row(page, "pronoun").locator("th button").click()
    assert page.evaluate(OVERFLOW) <= 0
    size = opened(page).locator("text.word").first.evaluate("(one) => one.getBoundingClientRect().height")
    assert size > 12, "a long sentence scrolls before its words become too small"


def test_hostile_words_and_names_are_text(visit: Visit, shelf: Shelf) -> None:
    names = ("all", *studies.HOSTILE[:3])
    words = list(studies.HOSTILE)
    known = {name: [(words, [[0, 4, 1], [5, 2, 2]])] for name in names}
    probed = coreference(names, summary="</script><img src=x onerror=alert(1)>", paper="<b>")
    view = view_of({"probe/<img src=x>": probed, "arcs/<img src=x>": arcs(names, known)})
    out = shelf.place / "words.html"
    out.write_text(make_page([(view, "words")]), encoding="utf-8")
    page = visit("words")
    assert rows(page).locator("th").all_inner_texts() == [names[1], names[0], names[2], names[3]]
    for number in range(len(HEADS)):
        rows(page).nth(number).locator("th button").click()
    assert opened(page).count() == 4
    spelled = opened(page).first.locator("text.word title").evaluate_all("(all) => all.map((one) => one.textContent)")
    assert spelled == words
    assert page.locator("img").count() == 0
    assert page.evaluate(OVERFLOW) <= 0


def test_old_studies_have_no_sentences(visit: Visit, shelf: Shelf) -> None:
    out = shelf.place / "old.html"
    out.write_text(make_page([(view_of({"probe/coreference": coreference()}), "old")]), encoding="utf-8")
    page = visit("old")
    assert rows(page).count() == 4
    assert page.locator("table.probe th button").count() == 0
    assert "Click a row" not in page.locator("body").inner_text()
