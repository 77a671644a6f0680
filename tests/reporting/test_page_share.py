"""What leaves the page: does a table say what it is of, is a picture light and complete, and is paper readable?"""

from __future__ import annotations

import io
import re
import struct
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.reporting.pages import CHROMIUM, Shelf, Visit, grid, panel, saved, see_wall

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
COPIED = """async () => {
  const [item] = await navigator.clipboard.read();
  return [...new Uint8Array(await (await item.getType('image/png')).arrayBuffer()).slice(0, 24)];
}"""


def table(page: Any, name: str, within: str = "#page") -> tuple[str, pd.DataFrame]:
    file, content = saved(page, page.locator(within).get_by_label(f"CSV of {name}"))
    return file, pd.read_csv(io.BytesIO(content))


def test_every_table_says_what_it_is_of(visit: Visit, shelf: Shelf) -> None:
    """The model and the task in every row, the metric of every number, and the head where it is about one."""
    page = visit("classifier", tab="without")
    _, effects = table(page, "Change of accuracy without the head")
    assert set(effects["model"]) == {"models/tuned"}
    assert set(effects["number"]) == {"Change of accuracy without the head"}
    assert set(effects["unit"]) == {"accuracy"}
    page.locator("#tab-small").click()
    _, curve = table(page, "How many heads can go: held-out half")
    assert set(curve["metric"]) == {"accuracy"}
    assert set(curve["model"]) == {"models/tuned"}
    assert set(curve["task"]) == {"sst2"}
    page.evaluate("location.hash = '#L1H2'")
    panel(page).get_by_role("heading", name="All its numbers").wait_for()
    for name in ("Among all heads", "How far away it looks", "All its numbers"):
        file, rows = table(page, name, "#head")
        assert "l1h2" in file
        assert set(rows["head"]) == {"L1H2"}, name
        assert set(rows["model"]) == {"models/tuned"}


def test_the_table_of_several_studies_has_its_number(visit: Visit, shelf: Shelf) -> None:
    page = visit("classifier", "other", tab="without")
    _, rows = table(page, "Studies beside each other")
    assert set(rows["number"]) == {"Change of accuracy without the head"}
    assert set(rows["study"]) == {"classifier", "other"}
    own = shelf.own("other", "sweep/head-zero", "delta")
    np.testing.assert_allclose(rows[rows["study"] == "other"]["value"], list(own.values()), rtol=1e-3)


def test_a_figure_is_copied_as_a_picture(visit: Visit) -> None:
    page = visit("classifier", permissions=["clipboard-read", "clipboard-write"])
    see_wall(page)
    button = page.get_by_label("Copy the picture of Every head")
    button.click()
    playwright.expect(button).to_have_text("Copied")
    assert bytes(page.evaluate(COPIED)).startswith(b"\x89PNG")


def test_where_there_is_no_clipboard_the_picture_is_a_file(visit: Visit) -> None:
    page = visit("classifier")
    see_wall(page)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    name, content = saved(page, page.get_by_label("Copy the picture of Every head"))
    assert name.startswith("every-head-")
    assert content.startswith(b"\x89PNG")


def test_the_picture_beside_a_link(visit: Visit) -> None:
    """1200 x 630 as sites want it, light in the dark too, with the grid on its right."""
    page = visit("classifier", color_scheme="dark")
    see_wall(page)
    name, content = saved(page, page.get_by_label("Picture to show beside a link"))
    assert name == "models-tuned-sst2-preview.png"
    assert struct.unpack(">II", content[16:24]) == (1200, 630)
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("L"))
    assert np.median(pixels) > 230
    assert (pixels[:, 640:] < 128).sum() > 2000
    assert (pixels[:, :600] < 128).sum() > 2000


def test_what_is_said_below_a_link(visit: Visit) -> None:
    page = visit("classifier")
    said = page.locator("meta[property='og:description']").get_attribute("content")
    assert "baseline accuracy: 0.88 [" in said
    assert page.locator("meta[property='og:title']").get_attribute("content") == "models/tuned · Headcount"


def printed(page: Any) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")


def test_paper_is_light_and_the_page_dark_again_after_it(visit: Visit) -> None:
    page = visit("classifier", color_scheme="light", folded=True)
    page.locator("#centre .thumb canvas").wait_for()
    light = page.locator("#centre .thumb canvas").evaluate("(one) => one.toDataURL()")
    page = visit("classifier", color_scheme="dark", folded=True)
    see_wall(page)
    image = grid(page).locator("image.thumbs")
    dark = image.get_attribute("href")
    small = page.locator("#centre .thumb canvas")
    small.wait_for()
    shade = small.evaluate("(one) => one.toDataURL()")
    printed(page)
    assert small.evaluate("(one) => one.toDataURL()") == light, "small pictures are light as well"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    assert image.get_attribute("href") != dark
    assert page.locator(".findings li").first.is_visible()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert image.get_attribute("href") == dark
    assert small.evaluate("(one) => one.toDataURL()") == shade
    assert page.evaluate("document.documentElement.dataset.dark") == "yes"
    assert page.locator(".findings li").first.is_hidden()


def test_on_paper_no_heading_is_parted_and_no_table_cut(visit: Visit) -> None:
    page = visit("classifier", folded=True)
    printed(page)
    for part, rule in ((".figure", "breakInside"), ("figure.beside", "breakInside")):
        assert page.locator(part).first.evaluate(f"(one) => getComputedStyle(one).{rule}") == "avoid", part
    for part in ("h2", ".title", "figcaption", ".caption"):
        assert page.locator(part).first.evaluate("(one) => getComputedStyle(one).breakAfter") == "avoid", part
    whole = page.locator("#list .tall").evaluate("(one) => one.scrollHeight - one.clientHeight")
    assert whole <= 0
    page.evaluate("location.hash = '#L1H2'")
    panel(page).locator("svg[aria-label^='Attention map']").wait_for()
    assert panel(page).get_by_role("button", name="Next head").count() == 0
    assert page.locator("#body").is_hidden()
    page.emulate_media(media="screen")


def test_a_sentence_fits_the_sheet(visit: Visit) -> None:
    page = visit("classifier", width=390, folded=True)
    arcs = page.locator("#centre .arcs")
    arcs.wait_for()
    playwright.expect(page.locator("#centre .on-screen")).to_be_visible()
    printed(page)
    assert arcs.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0
    assert page.locator("#centre .on-screen").is_hidden()
    page.emulate_media(media="screen")


def test_a_printed_page_has_pictures(visit: Visit) -> None:
    """The file that the browser prints: more than a page, with the grid's maps in it."""
    page = visit("classifier", folded=True)
    see_wall(page)
    content = page.pdf(format="A4")
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 2
    assert content.count(b"/Subtype /Image") >= 3
