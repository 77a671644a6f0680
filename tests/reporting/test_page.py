"""The page in a real browser, without a network: does every part show the study's own numbers and do what it says?"""

from __future__ import annotations

import io
import re
import struct
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from tests.reporting import studies
from tests.reporting.pages import (
    CHROMIUM,
    OVERFLOW,
    TEXTS,
    Shelf,
    Tab,
    Visit,
    assert_drawing,
    bright,
    cell,
    choose,
    close_to,
    figures_in,
    focused,
    grid,
    listed,
    names_of,
    panel,
    saved,
    see_wall,
    unfold,
    values_of,
)

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
EFFECT = "Change of accuracy without the head"
SEP = "Attention to [SEP]"
SAID = 0.0051
"""An estimate in a sentence has two digits of its interval's width."""
HEADS = [f"L{layer}H{head}" for layer in range(3) for head in range(4)]
LEFT = ["L0H0", "L0H2", "L0H3", "L2H1", "L2H2"]
"""What `pruned_study` still has."""
BY_STACK = {
    stack: [f"{stack}.L{layer}H{head}" for layer in range(layers) for head in range(heads)]
    for stack, layers, heads in (("encoder", 3, 4), ("decoder", 2, 2), ("cross", 2, 2))
}


# Loading


@pytest.mark.parametrize(
    "names",
    [
        ("classifier",),
        ("pruned",),
        ("grouped",),
        ("generation",),
        ("dynamics",),
        ("hostile",),
        ("empty",),
        ("partial-maps",),
        ("partial-layer",),
        ("partial-measures",),
        ("patterns",),
        ("probed",),
        ("classifier", "other", "pruned"),
        ("empty", "classifier"),
        ("translation",),
    ],
    ids="+".join,
)
def test_loads_without_a_request_and_without_a_complaint(visit: Visit, names: tuple[str, ...]) -> None:
    """The fixture asserts the silence; here everything is brought into sight, so that everything is drawn."""
    page = visit(*names)
    assert page.locator("h1").inner_text()
    if names[0] in ("classifier", "partial-maps"):
        see_wall(page)
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    assert page.evaluate("document.querySelectorAll('link, iframe, object, embed, script[src], img[src]').length") == 0


def test_nothing_could_be_loaded_even_if_the_page_were_told_to(browser: Any, shelf: Shelf) -> None:
    """The policy, not only good manners: what came in could neither run nor ask anyone."""
    tab = Tab(browser)
    page = tab.open(shelf.page("empty"), "", 1280)
    told = page.evaluate(
        """async () => {
          const told = [];
          addEventListener('securitypolicyviolation', (event) => told.push(event.violatedDirective));
          document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }));
          document.body.append(Object.assign(new Image(), { src: 'https://example.org/x.png' }));
          document.body.insertAdjacentHTML('beforeend', '<style>p { top: 1px }</style><p onclick="ran = 2">x</p>');
          document.body.lastElementChild.click();
          await fetch('https://example.org/').catch(() => null);
          for (let turn = 0; turn < 200 && told.length < 5; turn++) await new Promise((done) => setTimeout(done, 10));
          return told.sort();
        }"""
    )
    assert told == ["connect-src", "img-src", "script-src-attr", "script-src-elem", "style-src-elem"]
    assert page.evaluate("window.ran ?? 0") == 0
    tab.context.close()


def test_without_scripts_it_says_so(visit: Visit) -> None:
    """And shows what can be read without figures: the findings, and the heads as a table."""
    page = visit("classifier", java_script_enabled=False)
    assert "allow it to run" in page.locator("body").inner_text()
    assert "Baseline accuracy" in page.locator("body").inner_text()
    assert page.locator("tbody tr").count() == len(HEADS)


# The grid


def test_one_named_cell_for_each_head_with_the_studys_number(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    delta, low, q = (shelf.own("classifier", "sweep/head-uniform", name) for name in ("delta", "low", "q"))
    assert list(delta) == HEADS
    assert grid(page).get_by_role("gridcell").count() == len(HEADS)
    assert grid(page).get_by_role("row").count() == 3
    assert cell(page, "L1H2").count() == 1  # by role and accessible name
    names = names_of(page)
    assert list(names) == HEADS
    for head, name in names.items():
        assert name.startswith(f"{EFFECT} ")
        assert figures_in(name)[:2] == [close_to(delta[head]), close_to(low[head])]
        assert name.endswith(", significant") == (q[head] < 0.05)
    assert page.get_by_role("grid", name=f"Heads coloured by: {EFFECT}").count() == 1


def test_colours_go_with_the_numbers(visit: Visit, shelf: Shelf) -> None:
    """Orange below 0 and darker the farther; no two heads of different value have the same colour."""
    page = visit("classifier", tab="without")
    delta = shelf.own("classifier", "sweep/head-uniform", "delta")
    fills = grid(page).locator(".cell").evaluate_all("(all) => all.map((one) => one.firstChild.getAttribute('fill'))")
    colours = {head: tuple(map(int, re.findall(r"\d+", fill))) for head, fill in zip(HEADS, fills, strict=True)}
    order = sorted(HEADS, key=lambda head: delta[head])
    assert [sum(colours[head]) for head in order] == sorted(sum(colours[head]) for head in order)
    for head in HEADS:
        if delta[head] < 0:
            assert colours[head][0] > colours[head][2]  # more red than blue
    assert len({colours[head] for head in HEADS}) == len({round(value, 6) for value in delta.values()})


def test_hover_tells_the_head_beside_the_grid_and_marks_it_everywhere(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    card = page.locator(".card")
    delta = shelf.own("classifier", "sweep/head-uniform", "delta")
    for head in ("L0H0", "L2H3"):
        cell(page, head).hover()
        playwright.expect(card.locator("h2")).to_have_text(head)
        assert figures_in(card.inner_text().split("changes by")[1])[0] == pytest.approx(delta[head], abs=SAID)
        assert page.locator(".tip").is_hidden(), "it would say the same again"
        place = HEADS.index(head)
        assert page.locator(f"#centre [data-head='{place}'].hovered").count() == 1
        assert page.locator(f"#explore [data-point='{place}'].hovered").count() == 1
    page.mouse.move(5, 5)
    assert page.locator(".hovered").count() == 0
    assert card.locator("h2").inner_text() == "L2H3", "what was read last stays"


def test_hover_shows_a_tip_inside_the_window_where_there_is_no_room_beside(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without", width=800)
    tip = page.locator(".tip")
    assert tip.is_hidden()
    delta = shelf.own("classifier", "sweep/head-uniform", "delta")
    for head in ("L0H0", "L2H3"):
        cell(page, head).hover()
        told = tip.inner_text()
        assert told.startswith(head)
        assert figures_in(told.split(f"{EFFECT}:")[1])[0] == close_to(delta[head])
        box = tip.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 800
        assert box["y"] + box["height"] <= 900
    page.mouse.move(5, 5)
    assert tip.is_hidden()


# The panel of a head


ROWS = """(table) => [...table.rows].slice(1).map((row) => {
  const [title, ...rest] = [...row.cells].map((one) => one.textContent);
  return [title, rest];
})"""


def test_click_opens_the_head_with_its_numbers_and_ranks(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier")
    delta, high, q = (shelf.own("classifier", "sweep/head-uniform", name) for name in ("delta", "high", "q"))
    separator = shelf.own("classifier", "measures/special", "sep")
    for head in ("L1H2", "L0H3"):
        cell(page, head).click()
        playwright.expect(panel(page)).to_be_visible()
        assert panel(page).locator("h2").inner_text() == head
        assert page.evaluate("location.hash") == f"#{head}"
        said = panel(page).locator("header .caption").inner_text()
        assert figures_in(said.split("changes by")[1])[0] == pytest.approx(delta[head], abs=SAID)
        assert ("not significant" in said) == (q[head] >= 0.05)
        rows = dict(panel(page).locator("table").last.evaluate(ROWS))
        effect = next(values for title, values in rows.items() if title.startswith(EFFECT))
        shown = figures_in(effect[0])
        assert [shown[0], shown[2]] == [close_to(delta[head]), close_to(high[head])]
        assert effect[1] == f"{1 + sum(value > delta[head] + 1e-9 for value in delta.values())} of 12"
        attention = next(values for title, values in rows.items() if title.startswith(SEP))
        assert figures_in(attention[0])[0] == close_to(separator[head])
        assert attention[1] == f"{1 + sum(value > separator[head] for value in separator.values())} of 12"
        panel(page).get_by_label("Close", exact=True).click()


def test_what_flips_without_the_head_is_what_the_logits_say(visit: Visit, shelf: Shelf) -> None:
    sweep = shelf.result("classifier", "sweep/head-uniform")
    whole, without = sweep["baseline_logits"].values.argmax(-1), sweep["logits"].values[0].argmax(-1)
    head = max(HEADS, key=lambda one: (without[int(one[1]), int(one[3])] != whole).sum())
    changed = np.flatnonzero(without[int(head[1]), int(head[3])] != whole)
    assert len(changed) > 3
    page = visit("classifier", link=f"#{head}")
    section = panel(page).locator("section", has=page.get_by_role("heading", name="What changes without it"))
    assert f"{len(changed)} of 60 examples" in section.inner_text()
    items = section.locator("li")
    assert items.count() == len(changed)
    names = studies.NAMES
    for place, example in enumerate(changed):
        text, label = str(sweep["text"].values[example]), int(sweep["label"].values[example])
        verdict = items.nth(place).locator(".verdict").inner_text()
        assert items.nth(place).locator(".text").inner_text() == text
        now = 1 - whole[example]
        assert verdict.startswith(f"{names[whole[example]]} → {names[now]} (label: {names[label]})")
        assert verdict.endswith("now right" if now == label else "now wrong")


READ_MAP = """async (svg, [rows, columns]) => {
  const image = svg.querySelector('image'), told = document.querySelector('#head .told');
  const [x, y, width, height] = ['x', 'y', 'width', 'height'].map((name) => Number(image.getAttribute(name)));
  const texts = [];
  for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) {
    const middle = new DOMPoint(x + ((column + 0.5) * width) / columns, y + ((row + 0.5) * height) / rows);
    const place = middle.matrixTransform(svg.getScreenCTM());
    svg.dispatchEvent(new MouseEvent('mousemove', { clientX: place.x, clientY: place.y, bubbles: true }));
    texts.push(told.textContent);
  }
  const picture = new Image();
  picture.src = image.getAttribute('href');
  await picture.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [picture.width, picture.height];
  canvas.getContext('2d').drawImage(picture, 0, 0);
  const { data } = canvas.getContext('2d').getImageData(0, 0, picture.width, picture.height);
  return { texts, size: [picture.height, picture.width], pixels: [...data] };
}"""


def assert_map(page: Any, stored: np.ndarray, queries: list[str], keys: list[str]) -> None:
    """Every weight that the open head's map tells, and every pixel, is that of the stored bytes [query, key]."""
    drawn = panel(page).locator("svg[aria-label^='Attention map']")
    drawn.wait_for()
    found = drawn.evaluate(READ_MAP, list(stored.shape))
    assert found["size"] == list(stored.shape)
    expected = [
        (query, key, (int(byte) / 255) ** 2)
        for query, row in zip(queries, stored, strict=True)
        for key, byte in zip(keys, row, strict=True)
    ]
    for told, (query, key, weight) in zip(found["texts"], expected, strict=True):
        assert told.startswith(f"{query} → {key}: ")
        assert figures_in(told.removeprefix(f"{query} → {key}: ")) == [pytest.approx(weight, abs=5.01e-4)]
    pixels = np.array(found["pixels"], dtype=int).reshape(-1, 4)
    light: dict[int, int] = {}
    for byte, pixel in zip(stored.ravel().tolist(), pixels[:, :3].sum(1).tolist(), strict=True):
        assert light.setdefault(byte, pixel) == pixel
    assert [light[byte] for byte in sorted(light)] == sorted(light.values(), reverse=True)


@pytest.mark.parametrize("head", ["L0H0", "L2H3"])
def test_the_map_is_the_studys_byte_for_byte(visit: Visit, shelf: Shelf, head: str) -> None:
    page = visit("classifier", link=f"#{head}")
    names = panel(page).locator("svg[aria-label^='Attention map'] text")
    for text, count in (("We slept.", 10), (f"{studies.TEXT} | {studies.PAIR}", 32)):
        panel(page).get_by_label("Text", exact=True).select_option(label=text)
        playwright.expect(names).to_have_count(count)
    maps = next(one for one in shelf.maps("classifier") if one.attrs["pair"] and one.attrs["model"].endswith("tuned"))
    tokens = maps["tokens"].values.tolist()
    stored = maps["maps_encoder"].values[int(head[1]), int(head[3])]
    assert stored.max() > 100
    assert_map(page, stored, tokens, tokens)
    beams = panel(page).locator("svg[aria-label^='Attention as lines']")
    strong = (stored / 255.0) ** 2 >= 0.02
    playwright.expect(beams.locator(".beam")).to_have_count(int(strong.sum()))
    beams.locator("text").nth(2).hover()
    playwright.expect(beams.locator(".beam")).to_have_count(int(strong[2].sum()))
    page.mouse.move(5, 5)
    playwright.expect(beams.locator(".beam")).to_have_count(int(strong.sum()))


def test_another_text_of_the_maps(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1")
    panel(page).get_by_label("Text", exact=True).select_option(label="We slept.")
    drawn = panel(page).locator("svg[aria-label^='Attention map']")
    playwright.expect(drawn.locator("text")).to_have_text(["[CLS]", "we", "slept", ".", "[SEP]"] * 2)


def test_relations_offsets_and_their_numbers(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", link="#L2H1")
    panel(page).get_by_role("heading", name="All its numbers").wait_for()  # the last part that is drawn
    links = shelf.result("classifier", "measures/links@words").isel(stack=0, layer=2, head=1)
    drawn = panel(page).get_by_role("img", name="Relations between words")
    for link in map(str, links["link"].values):
        one = links.sel(link=link)
        if np.isfinite(one["attention"]):
            assert drawn.get_by_text(link, exact=True).count() == 1
            shown = f"{float(one['attention']):.2f} ({float(one['control']):.2f})"
            assert any(text.startswith(shown) for text in drawn.locator(".tick").all_text_contents()), shown
    offsets = shelf.result("classifier", "measures/position").isel(stack=0, layer=2, head=1)["attention"]
    bars = panel(page).get_by_role("img", name="Attention by offset").locator("rect")
    heights = [float(one.get_attribute("height")) for one in bars.all()]
    assert len(heights) == offsets.size
    np.testing.assert_allclose(np.array(heights) / max(heights), offsets / offsets.max(), atol=1e-3)


def test_the_heads_before_and_after_go_round(visit: Visit) -> None:
    page = visit("classifier", link="#L0H1")
    title = panel(page).locator("h2")
    panel(page).get_by_label("Previous head").click()
    panel(page).get_by_label("Previous head").click()
    playwright.expect(title).to_have_text("L2H3")
    panel(page).get_by_label("Next head").click()
    playwright.expect(title).to_have_text("L0H0")


# Keys and links


def press(page: Any, keys: str) -> list[str]:
    """Where each key leads."""
    found = []
    for key in keys.split():
        page.keyboard.press(
            {"Left": "ArrowLeft", "Right": "ArrowRight", "Up": "ArrowUp", "Down": "ArrowDown"}.get(key, key)
        )
        found.append(focused(page))
    return found


@pytest.mark.parametrize("names", [("classifier",), ("classifier", "other")])
def test_the_tip_stands_beside_the_cell_that_has_the_focus(visit: Visit, names: tuple[str, ...]) -> None:
    page = visit(*names, width=800)
    here = cell(page, "L1H2")
    here.focus()
    tip, own = page.locator(".tip").bounding_box(), here.bounding_box()
    assert tip["x"] <= own["x"] + own["width"] / 2 <= tip["x"] + tip["width"]
    assert min(abs(tip["y"] - own["y"] - own["height"]), abs(tip["y"] + tip["height"] - own["y"])) < 20


def test_arrows_walk_enter_opens_escape_closes(visit: Visit) -> None:
    page = visit("classifier")
    assert grid(page).locator("[tabindex='0']").count() == 1  # one stop of the tabulator for the whole grid
    cell(page, "L0H0").focus()
    playwright.expect(page.locator(".card h2")).to_have_text("L0H0")
    assert press(page, "Left Up Right Down Left Up") == ["L0H0", "L0H0", "L0H1", "L1H1", "L1H0", "L0H0"]
    assert press(page, "End Right Down Home") == ["L2H3", "L2H3", "L2H3", "L0H0"]
    assert press(page, "Right Right Right Right") == ["L0H1", "L0H2", "L0H3", "L1H0"]
    assert grid(page).locator("[tabindex='0']").count() == 1
    for key in ("Enter", " "):
        page.keyboard.press(key)
        playwright.expect(panel(page)).to_be_visible()
        assert page.evaluate("document.activeElement.id") == "head-title"
        assert panel(page).locator("h2").inner_text() == "L1H0"
        page.keyboard.press("Escape")
        playwright.expect(panel(page)).to_be_hidden()
        assert focused(page) == "L1H0"
        assert page.evaluate("location.hash") == ""


def test_the_grid_is_reached_with_the_tabulator_alone(visit: Visit) -> None:
    page = visit("classifier", tab="without")
    page.get_by_label("SVG of " + EFFECT).focus()
    for _ in range(4):
        page.keyboard.press("Tab")
    assert focused(page) == "L0H0"


def test_arrows_step_over_heads_that_are_gone(visit: Visit) -> None:
    page = visit("pruned")
    cell(page, "L0H0").focus()
    assert press(page, "Right Right Right Right") == ["L0H2", "L0H3", "L2H1", "L2H2"]
    cell(page, "L0H0").focus()
    assert press(page, "Down") == ["L2H1"]
    cell(page, "L0H3").focus()
    assert press(page, "Down Up") == ["L2H2", "L0H2"]


@pytest.mark.parametrize("link", ["#L1H0", "#L2H3"])
def test_a_link_opens_the_head(visit: Visit, link: str) -> None:
    page = visit("classifier", link=link)
    assert panel(page).locator("h2").inner_text() == link[1:]
    assert cell(page, link[1:]).get_attribute("class") == "cell chosen"
    page.keyboard.press("Escape")
    assert panel(page).is_hidden()
    assert page.locator(".chosen").count() == 0
    assert focused(page) == link[1:]


def test_back_and_forward(visit: Visit) -> None:
    page = visit("classifier")
    title = panel(page).locator("h2")
    cell(page, "L1H0").click()
    page.evaluate("location.hash = '#L2H1'")
    playwright.expect(title).to_have_text("L2H1")
    page.go_back()
    playwright.expect(title).to_have_text("L1H0")
    page.go_back()
    playwright.expect(panel(page)).to_be_hidden()
    page.go_forward()
    playwright.expect(panel(page)).to_be_visible()
    playwright.expect(title).to_have_text("L1H0")


def test_a_link_to_no_head_is_harmless(visit: Visit) -> None:
    page = visit("pruned", link="#nothing")
    assert panel(page).is_hidden()
    assert grid(page).locator(".cell").count() == len(LEFT)
    for link in ("#L9H9", "#L0", "#study-2/L0H0", "#study-0/L0H0", "#__proto__", "#%3Cimg%3E", "#", "#L0H1"):
        page.evaluate("location.hash = '#L0H0'")
        playwright.expect(panel(page)).to_be_visible()
        page.evaluate(f"location.hash = {link!r}")
        playwright.expect(panel(page)).to_be_hidden()


def test_a_link_that_is_no_text_is_harmless(browser: Any, shelf: Shelf) -> None:
    tab = Tab(browser)
    page = tab.open(shelf.page("pruned"), "#100%", 1280)
    assert panel(page).is_hidden()
    page.evaluate("location.hash = '#L0H0'")
    playwright.expect(panel(page)).to_be_visible()
    page.keyboard.press("Escape")
    playwright.expect(panel(page)).to_be_hidden()
    assert tab.problems == []
    tab.context.close()


# Choosing, filtering, sorting


def test_another_metric_redraws_the_grid(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier")
    own = shelf.own("classifier", "measures/special", "sep")
    before = cell(page, "L1H1").locator("rect").first.get_attribute("fill")
    choose(page, "Colour by", SEP)
    assert grid(page).get_attribute("aria-label") == f"Heads coloured by: {SEP}"
    assert values_of(page) == {head: close_to(own[head]) for head in HEADS}
    assert cell(page, "L1H1").locator("rect").first.get_attribute("fill") != before
    legend = page.locator("#centre .legend").first.inner_text()
    assert "share of attention" in legend
    assert figures_in(legend.split("share")[0])[1] == close_to(max(own.values()))
    assert page.get_by_label("only significant ones").count() == 0  # nothing was tested
    assert page.locator("#list thead th").nth(1).inner_text().startswith(SEP)


def test_two_metrics_against_each_other_are_linked(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    choose(page, "Against", "nothing")
    assert page.locator("#explore .dot").count() == 0
    choose(page, "Against", SEP)
    dots = page.locator("#explore .dot")
    assert dots.count() == 12
    delta = shelf.own("classifier", "sweep/head-uniform", "delta")
    separator = shelf.own("classifier", "measures/special", "sep")
    across, up = dots.evaluate_all("(all) => ['cx', 'cy'].map((side) => all.map((one) => +one.getAttribute(side)))")
    assert np.corrcoef(across, list(delta.values()))[0, 1] == pytest.approx(1, abs=1e-5)
    assert np.corrcoef(up, list(separator.values()))[0, 1] == pytest.approx(-1, abs=1e-5)
    expected = spearmanr([round(one, 6) for one in delta.values()], list(separator.values()))[0]
    caption = page.locator("#explore section", has_text="One against the other").last.locator(".caption").inner_text()
    assert figures_in(caption)[0] == pytest.approx(expected, abs=0.011)
    dot = page.locator("#explore [data-point='6']")
    dot.dispatch_event("mouseenter")
    assert page.locator(".tip").inner_text().startswith("L1H2")
    assert "hovered" in cell(page, "L1H2").get_attribute("class")
    dot.dispatch_event("click")
    playwright.expect(panel(page).locator("h2")).to_have_text("L1H2")
    assert "chosen" in dot.get_attribute("class")
    assert "chosen" in cell(page, "L1H2").get_attribute("class")


LASSO = """(svg) => {
  const box = svg.getBoundingClientRect();
  const at = (x, y) => ({ clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true });
  svg.dispatchEvent(new PointerEvent('pointerdown', at(0.01, 0.01)));
  for (const [x, y] of [[0.99, 0.01], [0.99, 0.99], [0.01, 0.99]])
    svg.dispatchEvent(new PointerEvent('pointermove', at(x, y)));
  svg.dispatchEvent(new PointerEvent('pointerup', at(0.01, 0.99)));
}"""


def test_a_line_around_points_keeps_their_heads_in_the_table(visit: Visit) -> None:
    page = visit("classifier", tab="without")
    page.locator("#explore svg.drawing").scroll_into_view_if_needed()
    dot = page.locator("#explore [data-point='6']").bounding_box()
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    page.mouse.move(x - 12, y - 12)
    page.mouse.down()
    for at in ((x + 12, y - 12), (x + 12, y + 12), (x - 12, y + 12)):
        page.mouse.move(*at)
    page.mouse.up()
    assert "L1H2" in listed(page)
    assert len(listed(page)) < 12
    page.get_by_role("button", name="Show all heads again").click()
    assert listed(page) == HEADS
    page.locator("#explore svg.drawing").evaluate(LASSO)
    assert sorted(listed(page)) == HEADS


def test_a_number_against_a_kind(visit: Visit, shelf: Shelf) -> None:
    """A row of points for each kind, with its name; the legend counts the heads."""
    page = visit("classifier", tab="without")
    choose(page, "Against", "What it does")
    dots = page.locator("#explore .dot")
    assert dots.count() == 12
    delta = shelf.own("classifier", "sweep/head-uniform", "delta")
    across = dots.evaluate_all("(all) => all.map((one) => +one.getAttribute('cx'))")
    assert np.corrcoef(across, list(delta.values()))[0, 1] == pytest.approx(1, abs=1e-5)
    choose(page, "Colour by", "What it does")
    choose(page, "Against", EFFECT)
    again = dots.evaluate_all("(all) => all.map((one) => +one.getAttribute('cx'))")
    assert again == across, "kinds stand below each other, whichever is chosen first"
    shown = page.locator("#centre .legend").first.inner_text()
    assert sum(int(one) for one in re.findall(r"\((\d+)\)", shown)) == 12


def test_kinds_have_their_whole_names_on_an_axis(visit: Visit) -> None:
    page = visit("roles", tab="do")
    choose(page, "Against", "Attention to the previous token")
    names = page.locator("#centre .kinds li").all_inner_texts()
    ticks = page.locator("#explore svg.drawing .axis").nth(1).locator("text").all_text_contents()
    assert ticks == [name.rpartition(" (")[0] for name in names], "in the order of the legend"
    assert page.evaluate(TEXTS, "#explore") == []


def test_filter_by_name(visit: Visit) -> None:
    page = visit("classifier")
    page.get_by_label("Find a head").fill("l1")
    assert bright(page) == listed(page) == ["L1H0", "L1H1", "L1H2", "L1H3"]
    assert page.locator("#explore .dot:not(.dimmed)").count() == 4
    assert "4 of 12 heads" in page.locator("#list .caption").inner_text()
    page.get_by_label("Find a head").fill("no such head")
    assert bright(page) == listed(page) == []
    page.get_by_label("Find a head").fill("")
    assert bright(page) == listed(page) == HEADS


def test_the_legend_filters_by_steps_of_its_scale(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    delta = shelf.own("classifier", "sweep/head-uniform", "delta")
    steps = page.locator("#centre .steps button")
    counts = [
        int(one.split(": ")[1].split()[0]) for one in steps.evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    ]
    assert sum(counts) == 12
    most = max(map(abs, delta.values()))
    width = 2 * most / len(counts)
    chosen = next(step for step, count in enumerate(counts) if 0 < count < 12)
    steps.nth(chosen).click()
    low = -most + chosen * width
    assert bright(page) == listed(page)
    assert bright(page) == [head for head in HEADS if low - 1e-6 <= delta[head] < low + width + 1e-6]
    assert f"only={chosen}" in page.evaluate("location.hash")
    assert steps.nth(chosen).get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == steps.nth(chosen).get_attribute(
        "aria-label"
    )
    choose(page, "Colour by", SEP)
    assert bright(page) == listed(page) == HEADS, "a filter belongs to its number"


def test_the_legend_filters_by_kind(visit: Visit) -> None:
    page = visit("classifier")
    kinds = page.locator("#centre .legend button.kind")
    said = kinds.nth(0).inner_text()
    kinds.nth(0).click()
    assert len(bright(page)) == int(re.findall(r"\((\d+)\)", said)[0])
    page.locator("#centre .legend button.kind").nth(0).click()
    assert bright(page) == HEADS


def test_a_filter_that_leaves_nothing_says_so(visit: Visit) -> None:
    page = visit("partial-measures")
    page.get_by_label("Find a head").fill("no such head")
    assert "No head is left by these filters" in page.locator("#centre").inner_text()


def test_enter_opens_the_head_that_is_found(visit: Visit) -> None:
    page = visit("classifier")
    page.get_by_label("Find a head").fill("l1h2")
    page.get_by_label("Find a head").press("Enter")
    playwright.expect(panel(page).locator("h2")).to_have_text("L1H2")


def test_a_link_in_small_letters(visit: Visit) -> None:
    page = visit("classifier", link="#l1h2")
    playwright.expect(panel(page).locator("h2")).to_have_text("L1H2")


def test_no_tip_stays_when_a_head_is_closed(visit: Visit) -> None:
    page = visit("classifier", width=800)
    cell(page, "L1H2").hover()
    playwright.expect(page.locator(".tip")).to_be_visible()
    cell(page, "L1H2").click()
    page.mouse.move(1, 1)
    page.keyboard.press("Escape")
    playwright.expect(page.locator(".tip")).to_be_hidden()


def test_a_map_says_which_colour_is_which_weight(visit: Visit) -> None:
    page = visit("classifier", link="#L1H2")
    scale = panel(page).get_by_label("Colours of weights from 0 to 1, by their square roots").first
    playwright.expect(scale).to_be_visible()
    assert scale.locator("text").all_text_contents()[1:] == ["0", "0.01", "0.05", "0.1", "0.25", "0.5", "1"]


def test_only_sure_ones(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    q = shelf.own("classifier", "sweep/head-uniform", "q")
    sure = [head for head in HEADS if q[head] < 0.05]
    assert 0 < len(sure) < 12
    assert grid(page).locator("circle").count() == len(sure)
    page.get_by_label("only significant ones").check()
    assert bright(page) == listed(page) == sure
    page.get_by_label("only significant ones").uncheck()
    assert bright(page) == listed(page) == HEADS


def test_only_sure_ones_ends_where_nothing_was_tested(visit: Visit) -> None:
    """The box is gone with the metric: its filter must not stay behind."""
    page = visit("classifier", tab="without")
    page.get_by_label("only significant ones").check()
    choose(page, "Colour by", SEP)
    assert page.get_by_label("only significant ones").count() == 0
    assert bright(page) == listed(page) == HEADS


def test_sorting_the_table(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    delta = shelf.own("classifier", "sweep/head-uniform", "delta")
    column = page.locator("#list thead th").nth(1)
    assert listed(page) == HEADS
    column.get_by_role("button").click()
    values = [delta[head] for head in listed(page)]
    assert sorted(listed(page)) == HEADS
    assert column.get_attribute("aria-sort") == "descending"
    assert values == sorted(values, reverse=True)
    column.get_by_role("button").click()
    assert column.get_attribute("aria-sort") == "ascending"
    assert [delta[head] for head in listed(page)] == sorted(values)
    first = page.locator("#list tbody tr").first
    assert figures_in(first.locator("td").first.inner_text())[0] == close_to(min(values))
    page.locator("#list thead th").nth(0).get_by_role("button").click()
    assert listed(page) == HEADS
    first.locator("th button").click()
    playwright.expect(panel(page).locator("h2")).to_have_text("L0H0")


def test_every_choice_has_its_own_name(visit: Visit) -> None:
    """Two metrics of one name could not be told apart, and the table's CSV would hold one of them alone."""
    page = visit("classifier")
    page.get_by_label("Colour by").select_option("all numbers")
    titles = page.locator(".found-list button").all_inner_texts()
    assert len(titles) > 20
    assert sorted({title for title in titles if titles.count(title) > 1}) == []


def test_all_numbers_are_searched(visit: Visit) -> None:
    page = visit("classifier")
    menu = page.get_by_label("Colour by")
    assert 4 <= menu.locator("option").count() <= 16
    menu.select_option("all numbers")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Search all numbers"
    page.keyboard.type("attention sep")
    found = page.locator(".found-list button").all_inner_texts()
    assert SEP in found
    assert all("sep" in one.lower() for one in found)
    page.keyboard.press("Escape")
    assert page.locator(".search-box").count() == 0


# Downloads


def test_every_figure_as_svg_and_png(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1")
    panel(page).locator("svg[aria-label^='Attention as lines']").wait_for()
    pictures = panel(page).get_by_label(re.compile(r"SVG of"))
    drawings = [saved(page, button) for button in pictures.all()]
    assert len(drawings) >= 5  # map, lines, among all heads, relations, offsets
    assert all("l1h1" in name for name, _ in drawings[:2]), "what is saved names its head"
    for tab in ("do", "without", "small"):
        page = visit("classifier", tab=tab)
        if tab == "do":
            see_wall(page)
        pictures = page.locator("#body").get_by_label(re.compile(r"SVG of"))
        for number in range(pictures.count()):
            if number % 4 == 3:
                visit("classifier", tab=tab)  # the browser holds back the eleventh file of a page
                if tab == "do":
                    see_wall(page)
            drawings.append(saved(page, pictures.nth(number)))
            _, picture = saved(page, pictures.nth(number).locator("xpath=following-sibling::button").first)
            root = assert_drawing(drawings[-1][1])
            assert picture.startswith(b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", picture[16:24])
            assert (width, height) == (int(2 * float(root.get("width"))), int(2 * float(root.get("height"))))
            assert len(picture) > 1000
    assert len(drawings) >= 13
    for name, content in drawings:
        assert re.fullmatch(r"[a-z0-9-]+\.svg", name)
        assert_drawing(content)
    heads = assert_drawing(next(content for name, content in drawings if name.startswith("change-of-accuracy")))
    words = [text for text in heads.itertext() if text.strip()]
    assert {"H0", "H3", "L0", "L2"} <= set(words)
    assert any("tuned" in word for word in words), "a picture says of which model it is"
    assert len([node for node in heads.iter() if node.get("data-head")]) == len(HEADS)


def test_the_drawing_of_a_map_keeps_its_squares(visit: Visit) -> None:
    """A map of few tokens is a small picture, drawn large: it must stay sharp in the copy too."""
    page = visit("classifier", link="#L1H1")
    panel(page).locator("svg[aria-label^='Attention map']").wait_for()
    _, content = saved(page, panel(page).get_by_label("SVG of As a map"))
    root = assert_drawing(content)
    image, _ = root.iter("{http://www.w3.org/2000/svg}image")  # the map and its scale
    assert "pixelated" in (image.get("image-rendering") or image.get("style") or "")


def test_all_maps_as_a_picture(visit: Visit) -> None:
    page = visit("roles")
    see_wall(page)
    name, content = saved(page, page.get_by_label("SVG of Every head"))
    assert name.startswith("every-head-")
    root = assert_drawing(content)
    image = next(root.iter("{http://www.w3.org/2000/svg}image"))
    assert len(image.get("href")) > 2000
    kinds = page.locator("#centre .kinds li").all_inner_texts()
    assert len(kinds) > 2
    assert set(kinds) <= {text.strip() for text in root.itertext()}, "the colours of the frames have their names"


def test_a_saved_grid_has_its_scale(visit: Visit) -> None:
    page = visit("classifier", tab="without", color_scheme="dark")
    words = page.locator("#centre .scale > span").all_inner_texts()
    _, content = saved(page, page.get_by_label(f"SVG of {EFFECT}").first)
    root = assert_drawing(content)
    texts = [text for text in root.itertext() if text.strip()]
    assert words[0] in texts
    assert " ".join(words[1:]) in texts
    colours = [node.get("fill") for node in root if node.tag.endswith("rect")]
    assert len(set(colours[1:])) == page.locator("#centre .step-choice").count()


def test_a_saved_map_has_its_scale_below_it_and_no_crosshair(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1")
    panel(page).locator("svg[aria-label^='Attention map']").wait_for()
    _, content = saved(page, panel(page).get_by_label("SVG of As a map"))
    root = assert_drawing(content)
    mapped, scale = [node for node in root if node.tag.endswith("svg")]
    assert float(scale.get("y")) >= float(mapped.get("y")) + float(mapped.get("height")) - 1
    assert not [node for node in mapped.iter() if node.tag.endswith("rect")], "nothing was pointed at"


def test_the_table_as_csv(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    name, content = saved(page, page.get_by_label("CSV of Heads as a table"))
    assert name.startswith("heads-as-a-table")
    table = pd.read_csv(io.BytesIO(content)).set_index("head")
    assert table.index.tolist() == HEADS
    for variable, column in (("delta", EFFECT), ("low", f"{EFFECT}: low"), ("q", f"{EFFECT}: q")):
        own = shelf.own("classifier", "sweep/head-uniform", variable)
        np.testing.assert_allclose(table[column], list(own.values()), rtol=1e-3, err_msg=column)
    for variable, column in (("sep", SEP), ("sep_low", f"{SEP}: low")):
        own = shelf.own("classifier", "measures/special", variable)
        np.testing.assert_allclose(table[column], list(own.values()), rtol=1e-3, err_msg=column)
    page.get_by_label("Find a head").fill("L2")
    _, content = saved(page, page.get_by_label("CSV of Heads as a table"))
    assert pd.read_csv(io.BytesIO(content))["head"].tolist() == HEADS[8:]


def test_curves_and_layers_as_csv(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", tab="without")
    _, content = saved(page, page.get_by_label("CSV of Without a whole layer"))
    table = pd.read_csv(io.BytesIO(content)).set_index("layer")
    own = shelf.result("classifier", "sweep/layer-uniform")
    np.testing.assert_allclose(table["delta"], own["delta"].values[0], rtol=1e-3, atol=1e-9)
    page.get_by_role("tab", name="How small can it get?").click()
    _, content = saved(page, page.get_by_label("CSV of How many heads can go: held-out half"))
    table = pd.read_csv(io.BytesIO(content)).set_index(["order", "gone"])
    curve = shelf.result("classifier", "pruning/curve@prune-confirming")
    for order in map(str, curve["order"].values):
        np.testing.assert_allclose(table.loc[order, "score"], curve["score"].sel(order=order), rtol=1e-3, atol=1e-9)


# Light and dark


def paper(page: Any) -> int:
    return sum(map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]))


def test_dark_by_the_button(visit: Visit) -> None:
    page = visit("classifier", color_scheme="light")
    assert paper(page) > 700
    choose(page, "Colour by", SEP)
    page.get_by_label("Use dark colours").click()
    assert paper(page) < 150
    assert grid(page).get_attribute("aria-label").endswith(SEP)  # nothing that was chosen is lost
    assert sum(map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).color"))[:3])) > 600
    _, content = saved(page, page.get_by_label(f"SVG of {SEP}"))
    assert assert_drawing(content)[0].get("fill") == "rgb(255, 255, 255)", "what is saved is light"
    dark = grid(page).locator(".face").evaluate_all("(all) => all.map((one) => one.getAttribute('fill'))")
    page.get_by_label("Use light colours").click()
    assert paper(page) > 700
    light = grid(page).locator(".face").evaluate_all("(all) => all.map((one) => one.getAttribute('fill'))")
    _, again = saved(page, page.get_by_label(f"SVG of {SEP}"))
    assert again == content
    assert len(dark) == len(light) == len(HEADS)


def test_dark_as_the_system_has_it(visit: Visit) -> None:
    page = visit("classifier", color_scheme="dark")
    assert paper(page) < 150
    page.emulate_media(color_scheme="light")
    playwright.expect(page.get_by_label("Use dark colours")).to_be_visible()
    assert paper(page) > 700


def test_an_open_head_follows_the_light(visit: Visit) -> None:
    page = visit("classifier", link="#L1H1", color_scheme="light")
    image = panel(page).locator("svg[aria-label^='Attention map'] image")
    image.wait_for()
    before = image.get_attribute("href")
    page.emulate_media(color_scheme="dark")
    playwright.expect(image).not_to_have_attribute("href", before)


# Room


@pytest.mark.parametrize(
    ("names", "link"),
    [
        (("classifier",), "#L1H1"),
        (("hostile",), "#L0H1"),
        (("pruned",), "#L0H2"),
        (("dynamics",), "#L0H1"),
        (("generation",), "#cross.L0H1"),
        (("empty",), ""),
        (("classifier", "other", "pruned"), "#study-2/L1H1"),
        (("translation",), "#cross.L0H1"),
    ],
    ids=lambda one: one if isinstance(one, str) else "+".join(one),
)
def test_nothing_sticks_out_sideways(visit: Visit, names: tuple[str, ...], link: str) -> None:
    page = visit(*names)
    for tab in page.get_by_role("tab").all():
        tab.click()
        unfold(page)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(OVERFLOW) <= 0
    if not link:
        return
    page.evaluate(f"location.hash = {link!r}")
    playwright.expect(panel(page)).to_be_visible()
    if page.locator("#head .map").count():
        panel(page).locator("svg[aria-label^='Attention as lines']").wait_for()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(OVERFLOW) <= 0
        box = panel(page).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize(
    "name", ["classifier", "pruned", "grouped", "generation", "partial-layer", "dynamics", "translation"]
)
def test_no_label_is_cut_or_lies_on_another(visit: Visit, name: str) -> None:
    for tab in ("do", "without", "small"):
        assert visit(name, tab=tab).evaluate(TEXTS, "#body") == []


@pytest.mark.parametrize("name", ["classifier", "hostile"])
def test_no_label_of_a_head_is_cut(visit: Visit, name: str) -> None:
    page = visit(name, link="#L1H1")
    panel(page).locator("svg[aria-label^='Attention as lines']").wait_for()
    assert page.evaluate(TEXTS, "#head") == []


def test_the_longest_titles_fit_their_figures(visit: Visit) -> None:
    """The names of the axes are the metrics' titles."""
    page = visit("classifier")
    found = set()
    page.get_by_label("Against", exact=True).select_option("all numbers")
    titles = page.locator(".found-list button").all_inner_texts()
    for title in sorted(titles, key=len)[-5:]:
        choose(page, "Against", title)
        found |= set(page.evaluate(TEXTS, "#explore"))
    choose(page, "Colour by", title)
    found |= set(page.evaluate(TEXTS, "#centre"))
    assert found == set()


# Hostile words


def test_hostile_words_stay_words(visit: Visit, shelf: Shelf) -> None:
    page = visit("hostile")
    sweep = shelf.result("hostile", "sweep/head-uniform")
    see_wall(page)
    assert "<img src=x onerror=alert(7)>" in page.locator("h1").inner_text()
    assert page.title().startswith("<img src=x onerror=alert(7)>")
    assert "study <img src=x onerror=alert(8)>." in page.locator(".made").inner_text()
    assert "--out" in page.locator(".gaps").inner_text()
    whole, without = sweep["baseline_logits"].values.argmax(-1), sweep["logits"].values[0].argmax(-1)
    seen = set()
    for head in ("L0H0", "L0H1", "L1H0", "L1H1"):
        page.evaluate(f"location.hash = '#{head}'")
        playwright.expect(panel(page).locator("h2")).to_have_text(head)
        panel(page).get_by_role("heading", name="All its numbers").wait_for()  # the last part that is drawn
        section = panel(page).locator("section", has=page.get_by_role("heading", name="What changes without it"))
        shown = section.locator(".text").evaluate_all("(all) => all.map((one) => one.textContent)")
        changed = np.flatnonzero(without[int(head[1]), int(head[3])] != whole)
        texts = [str(sweep["text"].values[example]) for example in changed]
        assert shown == [text if len(text) <= 400 else f"{text[:400]}…" for text in texts]
        seen |= {word for text in texts for word in text.split("|")}
        panel(page).locator("svg[aria-label^='Attention as lines']").wait_for()
        if len(changed):
            assert "</script><script>alert(6)</script>" in panel(page).locator(".verdict").first.inner_text()
    assert set(studies.HOSTILE[:5]) <= seen
    assert page.locator("main img, main script, main iframe, main b b, #head img").count() == 0
    assert page.evaluate("Object.keys(Object.prototype).length") == 0


def test_hostile_tokens_are_told_as_they_are(visit: Visit, shelf: Shelf) -> None:
    page = visit("hostile", link="#L1H0")
    (maps,) = shelf.maps("hostile")
    tokens = maps["tokens"].values.tolist()
    assert tokens == ["[CLS]", *studies.HOSTILE, "[SEP]"]
    assert_map(page, maps["maps_encoder"].values[1, 0], tokens, tokens)
    _, content = saved(page, panel(page).get_by_label("SVG of As a map"))
    assert_drawing(content)


# Other models


def test_stacks_have_their_own_grids_and_names(visit: Visit, shelf: Shelf) -> None:
    page = visit("translation", tab="without")
    delta = shelf.own("translation", "sweep/head-uniform", "delta")
    assert sorted(delta) == sorted(name for names in BY_STACK.values() for name in names)
    assert grid(page).get_by_role("gridcell").count() == len(delta) == 20
    assert values_of(page) == {head: close_to(value) for head, value in delta.items()}
    assert grid(page).locator(".stack").all_text_contents() == list(BY_STACK)


def test_arrows_cross_from_stack_to_stack(visit: Visit) -> None:
    page = visit("translation")
    cell(page, "encoder.L2H3").focus()
    assert press(page, "Right Up Down Down") == ["decoder.L0H0", "encoder.L2H0", "decoder.L0H0", "decoder.L1H0"]
    assert press(page, "Right Down") == ["decoder.L1H1", "cross.L0H1"]
    cell(page, "encoder.L2H3").focus()
    assert press(page, "Down") == ["decoder.L0H1"]


@pytest.mark.parametrize("head", ["cross.L0H1", "decoder.L1H0", "encoder.L2H3"])
def test_a_head_of_a_stack(visit: Visit, shelf: Shelf, head: str) -> None:
    page = visit("translation", link=f"#{head}")
    assert panel(page).locator("h2").inner_text() == head
    (maps,) = shelf.maps("translation")
    stack, place = head.split(".")
    queries = maps[f"tokens_{'encoder' if stack == 'encoder' else 'decoder'}"].values.tolist()
    keys = maps[f"tokens_{'decoder' if stack == 'decoder' else 'encoder'}"].values.tolist()
    assert_map(page, maps[f"maps_{stack}"].values[int(place[1]), int(place[3])], queries, keys)


def test_pruned_heads_are_empty_places(visit: Visit) -> None:
    page = visit("pruned", link="#L0H1")
    assert panel(page).is_hidden()
    assert grid(page).locator(".cell").evaluate_all("(all) => all.map((one) => one.ariaLabel.split(':')[0])") == LEFT
    gone = grid(page).locator(".absent")
    assert gone.count() == 7
    assert grid(page).get_by_role("gridcell").count() == 12
    for empty in gone.all()[:3]:
        assert "no such head" in empty.get_attribute("aria-label")
        assert empty.get_attribute("tabindex") is None
        empty.click(force=True)
        assert page.evaluate("location.hash") == "#L0H1"
        assert panel(page).is_hidden()
    assert grid(page).locator(".absent[data-head], .absent[tabindex]").count() == 0
    assert listed(page) == LEFT


@pytest.mark.parametrize("head", ["L0H2", "L2H1"])
def test_a_head_beside_pruned_ones_has_its_own_map(visit: Visit, shelf: Shelf, head: str) -> None:
    page = visit("pruned", link=f"#{head}")
    (maps,) = shelf.maps("pruned")
    tokens = maps["tokens"].values.tolist()
    stored = maps["maps_encoder"].values[int(head[1]), int(head[3])]
    assert stored.any()
    assert_map(page, stored, tokens, tokens)


def test_grouped_heads(visit: Visit, shelf: Shelf) -> None:
    """Four heads over two key/value heads, of a model that looks back alone, with a score that is better when low."""
    page = visit("grouped", link="#L1H3", tab="without")
    assert grid(page).get_by_role("gridcell").count() == 12
    assert "above 0: the model needs the head" in page.locator("#centre .legend").first.inner_text()
    (maps,) = shelf.maps("grouped")
    tokens, stored = maps["tokens"].values.tolist(), maps["maps_decoder"].values
    assert not np.triu(stored[1, 3], 1).any()
    assert not np.array_equal(stored[1, 2], stored[1, 3])
    assert_map(page, stored[1, 3], tokens, tokens)


def test_generated_texts_that_change(visit: Visit, shelf: Shelf) -> None:
    sweep = shelf.result("generation", "sweep/head-uniform")
    page = visit("generation")
    heads = page.locator("#list tbody th").all_inner_texts()
    assert len(heads) == 4
    whole = sweep["baseline_texts"].values.astype(object)
    place = list(sweep["stack"].values).index("cross")
    assert (sweep["texts"].values.astype(object)[place] != whole).any()
    for head in heads:
        page.evaluate(f"location.hash = '#{head}'")
        playwright.expect(panel(page).locator("h2")).to_have_text(head)
        panel(page).get_by_role("heading", name="All its numbers").wait_for()
        layer, number = map(int, re.findall(r"\d+", head))
        now = sweep["texts"].values.astype(object)[place, layer, number]
        changed = np.flatnonzero(now != whole)
        said = panel(page).locator(".verdict").all_inner_texts()
        assert len(said) == len(changed)
        for text, example in zip(said, changed, strict=True):
            assert " ".join(f"{whole[example]} → {now[example]}".split()) in " ".join(text.split())


INK = """async (svg) => {
  const image = svg.querySelector('image.thumbs');
  const picture = new Image();
  picture.src = image.getAttribute('href');
  await picture.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [picture.width, picture.height];
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(picture, 0, 0);
  const scale = picture.width / image.width.baseVal.value;
  return Object.fromEntries([...svg.querySelectorAll('.cell')].map((cell) => {
    const box = cell.querySelector('.face').getBBox();
    const side = Math.floor(box.width * scale) - 12;
    const { data } = context.getImageData(Math.ceil(box.x * scale) + 6, Math.ceil(box.y * scale) + 6, side, side);
    let sum = 0;
    for (let at = 0; at < data.length; at += 4) sum += 765 - data[at] - data[at + 1] - data[at + 2];
    return [cell.ariaLabel.split(':')[0], sum / (data.length / 4)];
  }));
}"""


@pytest.mark.parametrize("name", ["pruned", "partial-maps"])
def test_each_cell_is_a_picture_of_its_own_map(visit: Visit, shelf: Shelf, name: str) -> None:
    """The more of its weights are large, the darker a head's picture is, as in the study's own bytes."""
    page = visit(name)
    ink = see_wall(page).evaluate(INK)
    (maps,) = shelf.maps(name)
    stored = maps["maps_encoder"].values
    own = {head: stored[int(head[1]), int(head[3])].mean() for head in ink}
    assert len(ink) == (len(LEFT) if name == "pruned" else 4)
    assert spearmanr([ink[head] for head in ink], list(own.values()))[0] > 0.8


def test_maps_of_two_models_stand_beside_each_other(visit: Visit) -> None:
    page = visit("classifier")
    both = page.locator("section.figure", has=page.get_by_role("heading", name="Before and after fine-tuning"))
    playwright.expect(both.locator("svg[data-painted]")).to_have_count(2)
    assert both.locator("figcaption").all_inner_texts() == ["before: before", "after: tuned"]
    pictures = both.locator("image").evaluate_all("(all) => all.map((one) => one.getAttribute('href'))")
    assert pictures[0] != pictures[1]
    boxes = [one.bounding_box() for one in both.locator("figure").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    both.locator("[data-head='5']").first.click()
    playwright.expect(panel(page).locator("h2")).to_have_text("L1H1")


def test_before_after_and_the_difference(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", link="#L1H1")
    drawn = panel(page).locator("svg[aria-label^='Attention map']")
    drawn.wait_for()
    after = drawn.locator("image").get_attribute("href")
    panel(page).get_by_role("button", name="before: before", exact=True).click()
    playwright.expect(drawn.locator("image")).not_to_have_attribute("href", after)
    panel(page).get_by_role("button", name="difference", exact=True).click()
    playwright.expect(panel(page).get_by_label("Colours of changes from -1 to 1")).to_be_visible()
    text = panel(page).get_by_label("Text", exact=True).locator("option:checked").inner_text()
    both = {
        one.attrs["model"].rsplit("/", 1)[1]: one["maps_encoder"].values[1, 1].astype(float)
        for one in shelf.maps("classifier")
        if text == " | ".join(filter(None, (one.attrs["text"], one.attrs["pair"])))
    }
    change = (both["tuned"] / 255) ** 2 - (both["before"] / 255) ** 2
    found = drawn.evaluate(READ_MAP, list(change.shape))
    told = [figures_in(one.split(": ")[-1])[0] for one in found["texts"]]
    np.testing.assert_allclose(told, change.ravel(), atol=0.01)


def test_training_checkpoints(visit: Visit, shelf: Shelf) -> None:
    page = visit("dynamics", tab="small")
    own = shelf.result("dynamics", "pruning/dynamics")
    _, content = saved(page, page.get_by_label("CSV of When the order of heads settles"))
    table = pd.read_csv(io.BytesIO(content))
    np.testing.assert_allclose(table["score"], own["score"].values.ravel(), rtol=1e-3)
    assert table["step"].drop_duplicates().tolist() == own["checkpoint"].values.tolist()


@pytest.mark.parametrize(
    "name",
    ["classifier", "dynamics"],
)
def test_every_figure_and_sentence_says_what_it_is_of(visit: Visit, name: str) -> None:
    """Two figures of one title, or the same sentence twice, cannot be told apart."""
    for tab in ("do", "without", "small"):
        page = visit(name, tab=tab)
        for said in (page.locator("#body .title > :first-child"), page.locator(".findings li")):
            texts = said.all_inner_texts()
            assert len(texts) == len(set(texts))


def test_an_interval_stays_inside_its_figure(visit: Visit) -> None:
    page = visit("dynamics", tab="small")
    drawn = page.get_by_role("img", name="Agreement with the last order")
    lowest = drawn.evaluate(
        """(svg) => {
          const floor = svg.querySelector('.axis').transform.baseVal.consolidate().matrix.f;
          const boxes = [...svg.querySelectorAll('path:not(.domain)')].map((one) => one.getBBox());
          return Math.max(...boxes.map((box) => box.y + box.height)) - floor;
        }"""
    )
    assert lowest <= 1


# Studies with little in them


def test_an_empty_study_says_what_to_run(visit: Visit, shelf: Shelf) -> None:
    page = visit("empty")
    assert page.get_by_role("grid").count() == 0
    assert "no complete result yet" in page.locator(".findings").inner_text()
    commands = page.locator(".gaps code").all_inner_texts()
    assert {one.split()[1] for one in commands} >= {"sweep", "measure", "maps", "compare", "prune", "cost"}
    assert all(one.startswith("headcount ") for one in commands)
    assert commands[0].endswith("--out empty"), "a page names no path of a machine"


def test_only_maps(visit: Visit) -> None:
    page = visit("partial-maps", link="#L1H0")
    assert list(names_of(page)) == ["L0H0", "L0H1", "L1H0", "L1H1"]
    assert panel(page).locator("h2").inner_text() == "L1H0"
    panel(page).locator("svg[aria-label^='Attention map']").wait_for()
    page.keyboard.press("Escape")
    assert panel(page).is_hidden()
    commands = page.locator(".gaps code").all_inner_texts()
    assert not any(one.startswith("headcount maps") for one in commands)


def test_only_layers(visit: Visit) -> None:
    page = visit("partial-layer")
    assert page.get_by_role("img", name="accuracy without each layer").count() == 1
    assert page.locator(".findings summary").inner_text() == "One finding with its interval"
    assert not any("--by layer" in one for one in page.locator(".gaps code").all_inner_texts())


# Several studies


def test_studies_beside_each_other(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", "other", tab="without")
    multiples = page.locator(".small-multiple")
    assert multiples.count() == 2
    assert [one.get_by_role("gridcell").count() for one in multiples.all()] == [12, 12]
    one = shelf.own("classifier", "sweep/head-uniform", "delta")
    two = shelf.own("other", "sweep/head-zero", "delta")
    said = page.locator("section", has=page.get_by_role("heading", name="Do they agree?")).locator("tbody").inner_text()
    assert "classifier and other" in said
    rounded = [[float(f"{value:.4g}") for value in each.values()] for each in (one, two)]
    assert figures_in(said)[0] == pytest.approx(spearmanr(*rounded)[0], abs=0.0051)
    assert len(figures_in(said)) == 3
    assert values_of(page) == {head: close_to(value) for head, value in one.items()}
    multiples.nth(1).locator("figcaption").get_by_role("button").click()
    assert page.get_by_label("Study", exact=True).input_value() == "1"
    page.get_by_role("tab", name="What happens without it?").click()
    assert values_of(page) == {head: close_to(value) for head, value in two.items()}
    page.get_by_label("Study", exact=True).select_option("0")
    page.get_by_role("tab", name="What happens without it?").click()
    assert values_of(page) == {head: close_to(value) for head, value in one.items()}
    page.locator(".small-multiple").nth(1).locator("[data-head='5']").click()
    playwright.expect(panel(page).locator("h2")).to_have_text("L1H1")
    assert page.evaluate("location.hash") == "#study-2/L1H1"


def test_several_studies_by_another_number(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", "other", "partial-layer")
    choose(
        page,
        "Compare by",
        next(one for one in page.get_by_label("Compare by").locator("option").all_inner_texts() if SEP in one),
    )
    shown = page.locator(".small-multiple")
    own = shelf.own("other", "measures/special", "sep")
    said = shown.nth(1).locator(".cell").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert {one.split(":")[0]: figures_in(one.split(SEP)[1])[0] for one in said} == {
        head: close_to(value) for head, value in own.items()
    }
    assert "partial-layer did not measure it" in shown.nth(2).inner_text()


def test_links_into_several_studies(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", "other", link="#study-2/L0H1")
    two = shelf.own("other", "sweep/head-zero", "delta")
    title = panel(page).locator("h2")
    assert title.inner_text() == "L0H1"
    assert page.get_by_label("Study", exact=True).input_value() == "1"
    said = panel(page).locator("header .caption").inner_text()
    assert figures_in(said.split("changes by")[1])[0] == pytest.approx(two["L0H1"], abs=SAID)
    panel(page).get_by_label("Next head").click()
    playwright.expect(title).to_have_text("L0H2")
    assert page.evaluate("location.hash") == "#study-2/L0H2"
    page.evaluate("location.hash = '#study-1/L0H2'")
    playwright.expect(page.get_by_label("Study", exact=True)).to_have_value("0")
    page.keyboard.press("Escape")
    page.get_by_label("Study", exact=True).select_option("1")
    playwright.expect(panel(page)).to_be_hidden()
    assert page.evaluate("location.hash") == "#study-2"


def test_focus_comes_back_to_the_large_grid(visit: Visit) -> None:
    """Not to a small grid, which has no stops: the keyboard would begin at the top of the page again."""
    page = visit("classifier", "other")
    cell(page, "L1H2").focus()
    page.keyboard.press("Enter")
    playwright.expect(panel(page)).to_be_visible()
    page.keyboard.press("Escape")
    assert focused(page) == "L1H2"
    assert page.evaluate("document.activeElement.closest('#centre') !== null")


def test_small_grids_are_no_stops_of_the_tabulator(visit: Visit) -> None:
    """With a stop for each head one would press the key hundreds of times."""
    page = visit("classifier", "other")
    assert page.locator(".small-multiple [tabindex]").count() == 0


def test_only_the_chosen_studys_head_is_marked(visit: Visit) -> None:
    page = visit("classifier", "other", link="#study-2/L1H1")
    marked = page.locator(".small-multiple .chosen")
    assert marked.count() <= 1
    assert page.locator(".small-multiple").nth(0).locator(".chosen").count() == 0


def test_studies_whose_heads_differ(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", "pruned", "empty", link="#study-2/L2H1")
    assert panel(page).locator("h2").inner_text() == "L2H1"
    assert page.get_by_role("heading", name="Do they agree?").count() == 0
    assert page.locator(".small-multiple [role=grid]").count() == 2
    assert "empty did not measure it" in page.locator(".small-multiple").nth(2).inner_text()
    page.keyboard.press("Escape")
    assert listed(page) == LEFT
    page.get_by_role("tab", name="What happens without it?").click()
    own = shelf.own("pruned", "sweep/head-zero", "delta")
    assert values_of(page) == {head: close_to(own[head]) for head in LEFT}
    page.evaluate("location.hash = '#study-2/L1H1'")  # a head that only the first study has
    playwright.expect(panel(page)).to_be_hidden()
    page.evaluate("location.hash = '#study-1/L1H1'")
    playwright.expect(panel(page).locator("h2")).to_have_text("L1H1")
    page.keyboard.press("Escape")
    page.get_by_label("Study", exact=True).select_option("2")
    assert "no complete result yet" in page.locator(".findings").inner_text()
