"""The map of a long text on the page, in a real browser: a click shows the exact block, or the cells around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import transformers as tf
import xarray as xr

import headcount as hc
from headcount.attention_maps.maps import unpack
from tests.attention_maps.test_maps import words_tokenizer
from tests.contracts.zoo import BY_NAME
from tests.reporting.pages import CHROMIUM, Tab, close_to, panel

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, xr.Dataset]:
    """Stretches of 2 tokens, exact blocks of 6 x 6."""
    place = tmp_path_factory.mktemp("long")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headcount.attention_maps.plan.MOST_CELLS", 70)
        patch.setattr("headcount.attention_maps.plan.MOST_BYTES", 70**2 * 12)
        patch.setattr("headcount.attention_maps.exact_blocks.SIZE", 6)
        text = " ".join(["cat dog sat"] * 46)
        config = tf.LlamaConfig(**BY_NAME["llama"].options | {"max_position_embeddings": 500})
        model = tf.LlamaModel(config).eval()
        maps = hc.maps(model, words_tokenizer(), text, out=place / "study", name="long", max_length=140)
    return hc.report(place / "study", place / "long.html"), maps


@pytest.fixture
def opened(long_page: tuple[Path, xr.Dataset], tab: Tab) -> Iterator[Any]:
    tab.problems.clear()
    yield tab.open(long_page[0], "#L1H2", 1280)
    assert tab.problems == []


def click(page: Any, maps: xr.Dataset, query: int, key: int) -> None:
    """Click the map between stretches where these tokens meet."""
    drawing = panel(page).locator("svg.choosable")
    drawing.scroll_into_view_if_needed()
    box, (rows, columns) = drawing.locator("image").bounding_box(), maps["maps_decoder"].shape[2:]
    assert box["height"] / rows == pytest.approx(box["width"] / columns, rel=1e-3)
    pooled, cell = maps.attrs["pooled"], box["width"] / columns
    place = [(token // pooled + 0.5) * cell for token in (key, query)]
    page.mouse.click(box["x"] + place[0], box["y"] + place[1])


def test_a_click_shows_the_exact_block_of_the_study(opened: Any, long_page: tuple[Path, xr.Dataset]) -> None:
    maps = long_page[1]
    starts = maps["block_starts_decoder"].values.tolist()
    query, key = next((query, key) for query, key in starts if query == key > 20)
    click(opened, maps, query + 3, key + 3)
    shown = panel(opened).locator("section.figure", has=opened.get_by_role("heading", name="A block of the map"))
    playwright.expect(shown).to_contain_text(f"From tokens {query}\u2013{query + 5} to tokens {key}\u2013{key + 5}")
    drawing = shown.locator("svg[aria-label^='Attention map']")
    assert drawing.locator("text.token").count() == 12
    drawing.scroll_into_view_if_needed()
    box = drawing.locator("image").bounding_box()
    opened.mouse.move(box["x"] + 0.5 / 6 * box["width"], box["y"] + 4.5 / 6 * box["height"])
    said = panel(opened).locator(".told", has_text="→").last.inner_text()
    weight = unpack(maps["blocks_decoder"].values)[1, 2, starts.index([query, key]), 4, 0]
    assert float(re.findall(r"[\d.]+$", said)[0]) == close_to(float(weight))


def test_elsewhere_the_cells_are_enlarged(opened: Any, long_page: tuple[Path, xr.Dataset]) -> None:
    click(opened, long_page[1], 100, 60)
    shown = panel(opened).locator(
        "section.figure", has=opened.get_by_role("heading", name="A part of the map, enlarged")
    )
    playwright.expect(shown).to_contain_text("no exact map here: a cell is 2 x 2 tokens")
    assert shown.locator("svg.drawing text.token").count() == 64


def test_blocks_can_be_chosen_without_a_pointer(opened: Any, long_page: tuple[Path, xr.Dataset]) -> None:
    count = len(long_page[1]["block_starts_decoder"])
    playwright.expect(panel(opened).locator("select[aria-label=Block] option")).to_have_count(count + 1)
    panel(opened).get_by_label("Block").select_option(label="tokens 0\u20135 to tokens 0\u20135")
    playwright.expect(panel(opened).get_by_role("heading", name="A block of the map")).to_be_visible()
