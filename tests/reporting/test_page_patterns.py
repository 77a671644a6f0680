"""Patterns on the page, in a real browser without a network: are they the study's own, from shares to pixels?"""

from __future__ import annotations

import io
import math
import re
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headcount as hc
from headcount.patterns.naming import PATTERNS
from headcount.reporting.document import make_page
from headcount.reporting.published import find_published_patterns
from tests.reporting import studies
from tests.reporting.pages import (
    CHROMIUM,
    OVERFLOW,
    TEXTS,
    Shelf,
    Visit,
    assert_drawing,
    cell,
    choose,
    figures_in,
    grid,
    names_of,
    panel,
    saved,
)
from tests.reporting.test_patterns import patterns, view_of

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
SHARES, LAYERS, CONFUSION = "What the maps look like", "Patterns by layer", "How reliable the names are"
BESIDE, RELIABILITY = "Patterns of the studies", "How far to trust a name"
HEAD, TYPICAL = "What its maps look like", "Typical maps"


def part(within: Any, title: str) -> Any:
    """The figure with this heading."""
    return within.locator(f"xpath=.//section[contains(@class, 'figure')][div/*[.='{title}']]")


def whole(share: float) -> int:
    """Percent as the page rounds them, of a number with four digits as it gets them."""
    return math.floor(100 * float(f"{share:.4g}") + 0.5)


def spread(share: float, low: float, high: float) -> str:
    return f"{whole(share)} % [{whole(low)}, {whole(high)}]"


def bars_of(drawn: Any) -> dict[str, dict[str, float]]:
    """By row and pattern: how much of the row's length each part of a bar takes, of bars that lie end to end."""
    found = drawn.locator("rect").evaluate_all(
        "(all) => all.map((one) => [one.textContent, ...['x', 'y', 'width'].map((side) => +one.getAttribute(side))])"
    )
    rows: dict[str, dict[str, float]] = {}
    ends: dict[str, float] = {}
    room = 520 - 6 - min(x for _, x, _, _ in found)
    for said, x, _, width in found:
        row, told = said.rsplit(": ", 1)
        name, percent = re.fullmatch(r"(\S+) (\d+) %", told).groups()  # type: ignore[union-attr]
        assert x == pytest.approx(ends.get(row, x), abs=1.01)  # what is hardly there is half a pixel wide
        ends[row] = x + width + 0.5
        rows.setdefault(row, {})[name] = (width + 0.5) / room
        assert int(percent) == pytest.approx(100 * rows[row][name], abs=0.6)
    return rows


def open_typical(page: Any, link: str) -> Any:
    page.evaluate(f"location.hash = '#{link}'")
    playwright.expect(panel(page).locator("h2")).to_have_text(link.split("/")[-1])
    found = part(panel(page), TYPICAL)
    found.wait_for()
    return found


@pytest.fixture
def five(shelf: Shelf) -> str:
    """The page of shares in which every number is another, of two stacks, without typical maps."""
    out = shelf.place / "five.html"
    if not out.exists():
        out.write_text(make_page([(view_of({"measures/patterns": patterns()}), "five")]), encoding="utf-8")
    return "five"


# Shares


@pytest.mark.parametrize("name", ["patterns", "other", "pruned", "grouped"])
def test_shares_and_intervals_are_the_studys(visit: Visit, shelf: Shelf, name: str) -> None:
    page = visit(name)
    own = shelf.result(name, "measures/patterns")
    texts = part(page, SHARES).locator("svg.drawing text").all_text_contents()
    ends = [own[f"whole_share{end}"].values[0] for end in ("", "_low", "_high")]
    assert texts[::2] == list(PATTERNS)
    assert texts[1::2] == [spread(*one) for one in np.transpose(ends)]
    caption = part(page, SHARES).locator(".caption").inner_text()
    assert "interval that includes the mistakes of the rule" in caption


def test_bars_and_whiskers_go_with_the_shares(visit: Visit, shelf: Shelf) -> None:
    page = visit("patterns")
    own = shelf.result("patterns", "measures/patterns")
    drawn = part(page, SHARES).locator("svg.drawing")
    widths, colours = drawn.locator("rect").evaluate_all(
        "(all) => [all.map((one) => +one.getAttribute('width')), all.map((one) => one.getAttribute('fill'))]"
    )
    share, low, high = (own[f"whole_share{end}"].values[0] for end in ("", "_low", "_high"))
    long = share > 0
    scale = np.array(widths)[long] / share[long]
    np.testing.assert_allclose(scale, scale[0], rtol=1e-3)
    assert len(set(colours)) == 5
    ends = drawn.locator(".whisker").evaluate_all(
        "(all) => all.map((one) => one.x2.baseVal.value - one.x1.baseVal.value)"
    )
    np.testing.assert_allclose(ends, scale[0] * (high - low), atol=0.1)


def test_the_papers_shares_are_dashed_lines(visit: Visit, shelf: Shelf) -> None:
    """Beside those of a task that the paper has; a study without such a task has none."""
    page = visit("other")
    published = find_published_patterns("sst2")
    assert published is not None
    drawn = part(page, SHARES).locator("svg.drawing")
    places = drawn.locator(".baseline").evaluate_all("(all) => all.map((one) => one.x1.baseVal.value)")
    assert np.corrcoef(places, published["share"])[0, 1] == pytest.approx(1, abs=1e-6)
    widths = drawn.locator("rect").evaluate_all("(all) => all.map((one) => +one.getAttribute('width'))")
    share = shelf.result("other", "measures/patterns")["whole_share"].values[0]
    ratio = widths[0] / share[0]
    np.testing.assert_allclose(np.array(places) - 136, ratio * np.array(published["share"]), rtol=2e-3)
    assert f"Dashed: {published['source']}." in part(page, SHARES).locator(".caption").inner_text()
    page = visit("patterns")
    assert part(page, SHARES).locator(".baseline").count() == 0
    assert "Dashed" not in part(page, SHARES).locator(".caption").inner_text()


def test_every_layer_has_a_bar(visit: Visit, shelf: Shelf) -> None:
    page = visit("patterns")
    own = shelf.result("patterns", "measures/patterns")["share"].values[0]
    drawn = part(page, LAYERS).locator("svg.drawing")
    rows = bars_of(drawn)
    assert list(rows) == ["L0", "L1"]
    for layer, row in enumerate(rows.values()):
        expected = {name: share for name, share in zip(PATTERNS, own[layer].mean(0), strict=True) if share > 0}
        assert row == {name: pytest.approx(share, abs=2e-3) for name, share in expected.items()}
    assert part(page, LAYERS).locator(".kinds li").all_inner_texts() == list(PATTERNS)


def test_five_patterns_of_two_stacks(visit: Visit, five: str) -> None:
    """Every share is another number here: none is at another's place; a layer without heads has no bar."""
    own, page = patterns(), visit(five)
    for place, (stack, layers) in enumerate((("encoder", [0, 2]), ("decoder", [0]))):
        shown = part(page, f"{SHARES}: {stack}").locator("svg.drawing text").all_text_contents()
        ends = [own[f"whole_share{end}"].values[place] for end in ("", "_low", "_high")]
        assert shown[1::2] == [spread(*one) for one in np.transpose(ends)]
        rows = bars_of(part(page, f"{LAYERS}: {stack}").locator("svg.drawing"))
        assert list(rows) == [f"L{layer}" for layer in layers]
        for layer in layers:
            expected = np.nanmean(own["share"].values[place, layer], axis=0)
            assert list(rows[f"L{layer}"]) == list(PATTERNS)
            np.testing.assert_allclose(list(rows[f"L{layer}"].values()), expected, atol=2.5e-3)


def test_the_stacks_of_an_encoder_decoder(visit: Visit) -> None:
    page = visit("translation")
    titles = [one for one in page.locator("#body .title h2").all_inner_texts() if one.startswith((SHARES, LAYERS))]
    assert titles == [f"{SHARES}: encoder", f"{LAYERS}: encoder", f"{SHARES}: decoder", f"{LAYERS}: decoder"]
    assert part(page, CONFUSION).count() == 1


def test_the_confusion_of_the_rule(visit: Visit, shelf: Shelf) -> None:
    page = visit("patterns")
    own = shelf.result("patterns", "measures/patterns").attrs
    table = part(page, CONFUSION).locator("table")
    rows = [row.split("\t") for row in table.locator("tbody").inner_text().splitlines()]
    counts = np.array(own["confusion"])
    assert [row[0] for row in rows] == list(PATTERNS)
    assert [[int(one) for one in row[1:-1]] for row in rows] == counts.tolist()
    assert [row[-1] for row in rows] == [f"{own['f1'][name]:.2f}" for name in PATTERNS]
    heads = [one.replace("\u200b", "") for one in table.locator("thead th").all_inner_texts()]
    assert heads == ["labelled", *PATTERNS, "F1"]
    assert [int(one) for one in table.locator(".hit").all_inner_texts()] == np.diag(counts).tolist()
    caption, rule = part(page, CONFUSION).locator(".caption").inner_text(), own["rule"]
    headline = f"macro F1 {rule['f1']:.2f} [{rule['f1_low']:.2f}, {rule['f1_high']:.2f}]"
    assert f"{headline}, accuracy {whole(rule['accuracy'])} %" in caption
    assert f"{whole(rule['agreement'])} % of the {rule['maps']} maps" in caption
    assert whole(rule["accuracy"]) == whole(np.trace(counts) / counts.sum()), "the table and the sentence agree"


def test_how_far_to_trust_a_name(visit: Visit, shelf: Shelf) -> None:
    page = visit("patterns")
    told = shelf.result("patterns", "measures/patterns").attrs["reliability"]
    table = part(page, RELIABILITY).locator("table")
    rows = [row.split("\t") for row in table.locator("tbody").inner_text().splitlines()]
    assert len(rows) == len(told)
    for row, one in zip(rows, told, strict=True):
        ends = f"{whole(one['from'])} % to {whole(one['to'])} %"
        assert row == [ends, str(round(one["maps"])), f"{whole(one['sure'])} %", f"{whole(one['right'])} %"]


def test_the_sentence_on_top(visit: Visit, shelf: Shelf) -> None:
    page = visit("patterns")
    share = shelf.result("patterns", "measures/patterns")["whole_share"].values[0]
    said = page.locator(".findings li").first.inner_text()
    assert said.startswith(f"{SHARES}: {PATTERNS[int(share.argmax())]} {whole(share.max())} % [")


# The grid


def test_the_grid_is_coloured_by_pattern(visit: Visit, shelf: Shelf) -> None:
    """A study of patterns alone begins with them; its legend counts the heads."""
    page = visit("patterns")
    own = shelf.own("patterns", "measures/patterns", "mostly")
    assert names_of(page) == {head: f"The pattern of its maps {PATTERNS[int(kind)]}" for head, kind in own.items()}
    fills = grid(page).locator(".cell").evaluate_all("(all) => all.map((one) => one.firstChild.getAttribute('fill'))")
    assert len(set(zip(own.values(), fills, strict=True))) == len(set(fills)) == len(set(own.values())) == 4
    legend = page.locator("#centre .legend").first
    counts = [list(own.values()).count(kind) for kind in range(5)]
    assert legend.locator("li").all_inner_texts() == [
        f"{name} ({count})" for name, count in zip(PATTERNS, counts, strict=True)
    ]
    shown = legend.locator("li rect").evaluate_all("(all) => all.map((one) => one.getAttribute('fill'))")
    assert fills == [shown[int(kind)] for kind in own.values()]


def test_patterns_are_a_choice_beside_others(visit: Visit, shelf: Shelf) -> None:
    page = visit("other")
    choose(page, "Colour by", "The pattern of its maps")
    own = shelf.own("other", "measures/patterns", "mostly")
    assert {head: said.rsplit(" ", 1)[1] for head, said in names_of(page).items()} == {
        head: PATTERNS[int(kind)] for head, kind in own.items()
    }
    choose(page, "Colour by", "Vertical: maps with this pattern")
    share = shelf.result("other", "measures/patterns")["share"].values[0, 1, 2, 0]
    assert figures_in(names_of(page)["L1H2"].split("pattern")[-1])[0] == pytest.approx(share, abs=6e-4)


# A head


@pytest.mark.parametrize("head", ["L0H3", "L1H1"])
def test_a_click_shows_the_heads_own_shares(visit: Visit, shelf: Shelf, head: str) -> None:
    """The study has no maps of sentences: its heads open all the same."""
    page = visit("patterns")
    cell(page, head).click()
    playwright.expect(panel(page).locator("h2")).to_have_text(head)
    own = shelf.result("patterns", "measures/patterns").isel(stack=0, layer=int(head[1]), head=int(head[3]))
    ends = np.transpose([own[f"share{end}"].values for end in ("", "_low", "_high")])
    order = [kind for kind in np.argsort(-ends[:, 0], kind="stable") if ends[kind, 0] > 0]
    shown = part(panel(page), HEAD).locator(".kinds li").all_inner_texts()
    assert shown == [f"{PATTERNS[kind]} in {spread(*ends[kind])} of the texts" for kind in order]
    assert f"Its maps are mostly {PATTERNS[order[0]]}." in panel(page).locator("header .caption").inner_text()
    assert panel(page).get_by_role("heading", name="All its numbers").count() == 1


READ = """async (image) => {
  const picture = new Image();
  picture.src = image.getAttribute('href');
  await picture.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [picture.width, picture.height];
  canvas.getContext('2d').drawImage(picture, 0, 0);
  const { data } = canvas.getContext('2d').getImageData(0, 0, picture.width, picture.height);
  return { size: [picture.height, picture.width], pixels: [...data] };
}"""


def light_of(image: Any) -> np.ndarray:
    """How bright each pixel of a picture is, [row, column]."""
    found = image.evaluate(READ)
    return np.array(found["pixels"]).reshape(*found["size"], 4)[..., :3].sum(-1)


def assert_typical(page: Any, shelf: Shelf, name: str, link: str) -> None:
    """Pictures, captions and texts of the open head are those that the study has."""
    found = open_typical(page, link)
    own = shelf.result(name, "patterns/typical")
    spelled = link.split("/")[-1]
    stack = spelled.split(".")[0] if "." in spelled else str(own["stack"].values[0])
    layer, head = map(int, re.findall(r"\d+", spelled))
    one = own.sel(stack=stack).isel(layer=layer, head=head)
    there = np.flatnonzero(one["text"].values >= 0)
    assert 1 <= len(there) <= 3
    drawn = found.get_by_role("img", name="Typical maps of the head")
    images = drawn.locator("image")
    assert images.count() == len(there)
    assert found.locator("text.name").all_text_contents() == [str(one["kind"].values[kind]) for kind in there]
    assert drawn.locator("text.tick").all_text_contents() == [
        PATTERNS[int(one["named"].values[kind])] for kind in there
    ]
    texts = [str(own["texts"].values[one["text"].values[kind]]) for kind in there]
    assert images.locator("title").all_text_contents() == texts
    listed = found.locator("details li .text").all_text_contents()
    assert listed == [f"{one['kind'].values[kind]}: {text}" for kind, text in zip(there, texts, strict=True)]
    for number, kind in enumerate(there):
        stored, light = one["maps"].values[kind].astype(int), light_of(images.nth(number))
        assert light.shape == stored.shape == (32, 32)
        order = np.argsort(stored.ravel(), kind="stable")
        bytes_of, bright = stored.ravel()[order], light.ravel()[order]
        if bytes_of[-1] - bytes_of[0] <= 4:  # a head that finds nothing to look at looks everywhere alike
            assert np.ptp(light) < 30
            continue
        # Much attention is dark, and two cells that are more than a shade apart are never the other way round.
        darkest = np.minimum.accumulate(bright)
        for at in range(0, bytes_of.size, 7):
            below = int(np.searchsorted(bytes_of, bytes_of[at] - 4))
            assert not below or bright[at] <= darkest[below - 1]
        assert np.corrcoef(stored.ravel(), light.ravel())[0, 1] < -0.9


@pytest.mark.parametrize(
    ("name", "heads"),
    [
        ("patterns", ["L0H0", "L0H3", "L1H5"]),
        ("pruned", ["L0H2", "L2H2"]),
        ("translation", ["encoder.L2H3", "decoder.L1H1"]),
        ("grouped", ["L1H3"]),
    ],
)
def test_typical_maps_are_the_studys(visit: Visit, shelf: Shelf, name: str, heads: list[str]) -> None:
    page = visit(name)
    for head in heads:
        assert_typical(page, shelf, name, head)


def test_typical_maps_of_the_second_study(visit: Visit, shelf: Shelf) -> None:
    """Both studies have a head L0H3; each shows its own."""
    page = visit("patterns", "other")
    assert_typical(page, shelf, "other", "study-2/L0H3")
    assert_typical(page, shelf, "patterns", "study-1/L0H3")


def test_the_maps_follow_when_one_walks_on(visit: Visit, shelf: Shelf) -> None:
    page = visit("patterns", link="#L0H2")
    for _ in range(3):
        panel(page).get_by_label("Next head").click()
    playwright.expect(panel(page).locator("h2")).to_have_text("L0H5")
    part(panel(page), TYPICAL).wait_for()
    assert part(panel(page), TYPICAL).count() == 1
    assert_typical(page, shelf, "patterns", "L0H5")


def test_their_texts_can_be_opened(visit: Visit) -> None:
    page = visit("patterns")
    found = open_typical(page, "L0H3")
    assert not found.locator("details ol").is_visible()
    found.get_by_text("Their texts").click()
    assert found.locator("details ol").is_visible()


def test_heads_of_cross_attention_have_no_patterns(visit: Visit) -> None:
    page = visit("translation", link="#cross.L0H1")
    panel(page).get_by_role("heading", name="All its numbers").wait_for()  # the last part that is drawn
    assert part(panel(page), HEAD).count() == part(panel(page), TYPICAL).count() == 0
    assert "Its maps" not in panel(page).locator("header .caption").inner_text()
    page.keyboard.press("Escape")
    choose(page, "Colour by", "The pattern of its maps")
    assert all(said.endswith("no value") == head.startswith("cross.") for head, said in names_of(page).items())


def test_hostile_texts_stay_texts(visit: Visit, shelf: Shelf) -> None:
    page = visit("hostile")
    seen = set()
    for head in ("L0H0", "L0H1", "L1H0", "L1H1"):
        found = open_typical(page, head)
        found.locator("details").evaluate("(one) => { one.open = true; }")
        assert_typical(page, shelf, "hostile", head)
        seen |= {word for text in found.locator("image title").all_text_contents() for word in text.split("|")}
        assert page.evaluate(OVERFLOW) <= 0
    assert set(studies.HOSTILE[:5]) <= seen
    assert page.locator("main img, main script, main iframe, #head img, #head script, image image").count() == 0


# Downloads


def test_typical_maps_as_a_drawing(visit: Visit) -> None:
    page = visit("patterns")
    found = open_typical(page, "L0H3")
    name, content = saved(page, found.get_by_label("SVG of Typical maps"))
    assert name.startswith("typical-maps")
    root = assert_drawing(content)
    images = list(root.iter("{http://www.w3.org/2000/svg}image"))
    assert [one.get("href") for one in images] == found.locator("image").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('href'))"
    )
    assert all("pixelated" in str(one.get("image-rendering")) for one in images)
    words = [text for text in root.itertext() if text.strip()]
    assert {TYPICAL, "clearest", "in the middle", "exception", "vertical", "heterogeneous"} <= set(words)
    name, content = saved(page, found.get_by_label("PNG of Typical maps"))
    assert name.endswith(".png")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")


def table_of(page: Any, title: str) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(saved(page, page.get_by_label(f"CSV of {title}", exact=True))[1]))


def test_tables_as_csv(visit: Visit, shelf: Shelf) -> None:
    page = visit("other", link="#L1H2")
    own = shelf.result("other", "measures/patterns")
    table = table_of(page, HEAD).set_index("pattern")
    for column, end in (("share", ""), ("low", "_low"), ("high", "_high")):
        np.testing.assert_allclose(table[column], own[f"share{end}"].values[0, 1, 2], rtol=1e-3)
    page.keyboard.press("Escape")
    table = table_of(page, CONFUSION).set_index("label").drop(columns=["model", "task"])
    assert table.index.tolist() == table.columns.tolist() == list(PATTERNS)
    assert table.to_numpy().tolist() == own.attrs["confusion"]
    table = table_of(page, SHARES).set_index("pattern")
    assert table.index.tolist() == list(PATTERNS)
    for column, end in (("share", ""), ("low", "_low"), ("high", "_high")):
        np.testing.assert_allclose(table[column], own[f"whole_share{end}"].values[0], rtol=1e-3)
    assert table["published"].tolist() == (find_published_patterns("sst2") or {})["share"]
    table = table_of(page, LAYERS).set_index("layer")
    assert table.index.tolist() == ["L0", "L1", "L2"]
    np.testing.assert_allclose(table[list(PATTERNS)], own["share"].values[0].mean(1), rtol=1e-3)


@pytest.mark.parametrize("title", [SHARES, LAYERS])
def test_figures_as_drawings(visit: Visit, title: str) -> None:
    page = visit("patterns")
    root = assert_drawing(saved(page, page.get_by_label(f"SVG of {title}"))[1])
    words = [text for text in root.itertext() if text.strip()]
    assert [word for word in words if word in PATTERNS] == list(PATTERNS)


# Light and room


def test_typical_maps_follow_the_light(visit: Visit) -> None:
    """In the dark much attention is bright, as in every other map."""
    page = visit("patterns", color_scheme="light")
    image = open_typical(page, "L0H0").locator("image").first
    day, before = light_of(image), image.get_attribute("href")
    page.emulate_media(color_scheme="dark")
    playwright.expect(image).not_to_have_attribute("href", before)
    night = light_of(image)
    assert np.corrcoef(day.ravel(), night.ravel())[0, 1] < -0.5


CONTRAST = """(all) => all.map((one) => {
  const numbers = (colour) => colour.startsWith('#')
    ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
    : colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const light = (colour) => {
    const [r, g, b] = numbers(colour).map((one) => one / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [high, low] = [light(getComputedStyle(one).fill), light(one.previousElementSibling.getAttribute('fill'))]
    .sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_inside_bars_can_be_read(visit: Visit, five: str, scheme: str) -> None:
    """Against their colours, and none is wider than its part of the bar."""
    page = visit(five, color_scheme=scheme)
    found = page.locator("#body svg .inside")
    assert found.count() >= 8
    assert min(found.evaluate_all(CONTRAST)) >= 3
    room = found.evaluate_all(
        "(all) => all.map((one) => one.previousElementSibling.getBBox().width - one.getBBox().width)"
    )
    assert min(room) > 0


OVERLAP = """() => [...document.querySelectorAll('svg.drawing:not(.heads)')].flatMap((svg) => {
  const texts = [...svg.querySelectorAll('text')].map((one) => [one.textContent, one.getBoundingClientRect()]);
  const found = [];
  texts.forEach(([said, one], place) => texts.slice(place + 1).forEach(([told, other]) => {
    const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const up = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (across > 1 && up > 0.3 * Math.min(one.height, other.height)) found.push(`"${said}" lies on "${told}"`);
  }));
  return found;
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["patterns", "translation"])
def test_nothing_is_cut_or_sticks_out(visit: Visit, name: str, width: int, scheme: str) -> None:
    page = visit(name, width=width, color_scheme=scheme)
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(TEXTS, "#body") == []
    found = open_typical(page, "L0H3" if name == "patterns" else "decoder.L0H0")
    found.locator("details").evaluate("(one) => { one.open = true; }")
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(TEXTS, "#head") == []
    assert page.evaluate(OVERLAP) == []


def test_the_confusion_fits_a_phone(visit: Visit) -> None:
    """Its box scrolls where it must, and the page does not."""
    page = visit("patterns", width=390)
    box = part(page, CONFUSION).locator(".scroll").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


# Several studies


def test_shares_of_several_studies(visit: Visit, shelf: Shelf) -> None:
    """A bar for each, the paper's below that of its task; a study without patterns has none."""
    page = visit("patterns", "other", "partial-measures")
    rows = bars_of(part(page, BESIDE).locator("svg.drawing"))
    published = find_published_patterns("sst2")
    assert published is not None
    paper = f"other, {published['source']}"
    assert list(rows) == ["patterns", "other", paper]
    drawn = part(page, BESIDE).locator("svg.drawing .name").all_text_contents()
    assert drawn == ["patterns", "other", "(the paper's BERT)"]
    own = {name: shelf.result(name, "measures/patterns")["whole_share"].values[0] for name in ("patterns", "other")}
    for name, share in (own | {paper: published["share"]}).items():
        expected = {kind: one for kind, one in zip(PATTERNS, share, strict=True) if one > 0}
        assert rows[name] == {kind: pytest.approx(one, abs=3e-3) for kind, one in expected.items()}
    assert part(page, BESIDE).locator(".kinds li").all_inner_texts() == list(PATTERNS)
    table = table_of(page, BESIDE).set_index("study")
    np.testing.assert_allclose(table.loc["other", list(PATTERNS)].astype(float), own["other"], rtol=1e-3)


def test_stacks_of_several_studies(visit: Visit) -> None:
    page = visit("translation", "pruned")
    rows = part(page, BESIDE).locator("svg.drawing .name").all_text_contents()
    assert [one for one in rows if "paper" not in one] == ["translation encoder", "translation decoder", "pruned"]


def test_one_study_with_patterns_is_not_compared(visit: Visit) -> None:
    page = visit("patterns", "partial-measures")
    assert part(page, BESIDE).count() == 0
    assert part(page, SHARES).count() == 1
    page.get_by_label("Study", exact=True).select_option("1")
    assert part(page, SHARES).count() == 0


@pytest.fixture
def renamed(shelf: Shelf) -> Callable[..., str]:
    """The page of two studies of other names, which are copies of one."""

    def make(*names: str) -> str:
        out = shelf.place / f"{'+'.join(names)}.html"
        if not out.exists():
            for name in names:
                shutil.copytree(shelf.study("patterns"), shelf.place / name)
            hc.report([shelf.place / name for name in names], out)
        return out.stem

    return make


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    "names",
    [
        ("bert-base-uncased-finetuned-mrpc-seed-17", "an-encoder-decoder-model-of-sixteen-heads"),
        ("MMMMWWWWMMMMWWWWMMMMWWWW", "WWWWMMMMWWWWMMMMWWWWMMMM"),
    ],
    ids=["long", "wide"],
)
def test_long_names_of_studies_fit(
    visit: Visit, renamed: Callable[..., str], names: tuple[str, ...], width: int
) -> None:
    page = visit(renamed(*names), width=width)
    assert page.evaluate(OVERFLOW) <= 0
    shown = part(page, BESIDE).locator(".name").all_text_contents()
    for one, name in zip(shown, names, strict=True):
        start, end = one.split("…")
        assert name.startswith(start)
        assert name.endswith(end)
        assert min(len(start), len(end)) >= 4
    assert [one for one in page.evaluate(TEXTS, "#body") if one.startswith(BESIDE)] == []


def test_the_table_of_several_studies_has_whole_names(visit: Visit, renamed: Callable[..., str]) -> None:
    names = ["bert-base-uncased-finetuned-mrpc", "bert-base-uncased-finetuned-mnli"]
    table = table_of(visit(renamed(*names)), BESIDE)
    assert table["study"].tolist() == names


def test_bars_of_several_studies_can_be_told_apart(visit: Visit, renamed: Callable[..., str]) -> None:
    """Names of runs differ at their ends."""
    page = visit(renamed("bert-base-uncased-finetuned-mrpc", "bert-base-uncased-finetuned-mnli"))
    assert len(set(part(page, BESIDE).locator(".name").all_text_contents())) == 2
    whole_names = part(page, BESIDE).locator("svg.drawing rect title").all_text_contents()
    assert len({one.split(": ")[0] for one in whole_names}) == 2


# Studies without patterns


@pytest.mark.parametrize("name", ["partial-measures", "empty"])
def test_a_study_without_patterns_names_the_command(visit: Visit, shelf: Shelf, name: str) -> None:
    page = visit(name)
    for title in (SHARES, LAYERS, CONFUSION):
        assert part(page, title).count() == 0
    commands = [
        one for one in page.locator(".gaps code").all_inner_texts() if one.startswith("headcount find-patterns ")
    ]
    assert len(commands) == 1
    assert f"--out {shelf.study(name).name}" in commands[0], "a page names no path of a machine"
    if name != "empty":
        cell(page, "L0H1").click()
        panel(page).get_by_role("heading", name="All its numbers").wait_for()
        assert part(panel(page), HEAD).count() == 0


def test_a_study_with_patterns_does_not(visit: Visit) -> None:
    assert not any(
        "headcount find-patterns" in one for one in visit("patterns").locator(".gaps code").all_inner_texts()
    )


def test_shares_without_typical_maps(visit: Visit, five: str) -> None:
    """As all measures leave them: the shares are there, and the command for the maps."""
    page = visit(five, link="#encoder.L0H2")
    assert part(panel(page), HEAD).locator(".kinds li").count() == 5
    panel(page).get_by_role("heading", name="All its numbers").wait_for()
    assert part(panel(page), TYPICAL).count() == 0
    assert any("headcount find-patterns" in one for one in page.locator(".gaps code").all_inner_texts())
