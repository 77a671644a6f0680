"""The story of docs/live.md on the bundled model, frame by frame; with HEADCOUNT_PICTURES=FOLDER, its pictures too.

    HEADCOUNT_PICTURES=docs/pictures pytest -n 0 tests/live_server/test_pictures.py

`live.webp` has all frames, `live.png` the one of the README.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.live_server.example_texts import example_origin, example_texts
from headcount.live_server.live_model import LiveModel
from tests.live_server.page_server import LiveTab, cell, off, page_server, rows, settled, write
from tests.reporting.pages import CHROMIUM

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
expect = playwright.expect

QUESTION = "Where did the brothers test their glider?"
SENTENCE = "The brothers chose Kitty Hawk for its steady winds and soft sand."
SIZE = {"width": 1280, "height": 1230}
SECONDS = 2.5
"""Of each frame."""
WITHOUT_TIMES = """() => {
  document.activeElement.blur();
  document.querySelector(".tip").hidden = true;
  document.querySelector(".live-answer .title .quiet").style.visibility = "hidden";
  const words = document.querySelector(".sweep-words");
  words.textContent = words.textContent.replace(/ \\d+ heads in [\\d.]+ s\\.$/, "");
}"""
"""What differs from run to run is not in a picture."""


def frame(page: Any) -> bytes:
    settled(page)
    page.mouse.move(2, 2)
    page.evaluate(WITHOUT_TIMES)
    page.evaluate("() => new Promise((done) => setTimeout(done, 500))")  # nothing fades any more
    return bytes(page.screenshot(animations="disabled", caret="hide"))


def save(frames: list[bytes], folder: Path) -> None:
    """The recording, and the frame in which the answer has changed."""
    pictures = [image.open(io.BytesIO(one)).convert("RGB") for one in frames]
    options = {"save_all": True, "append_images": pictures[1:], "duration": int(1000 * SECONDS), "loop": 0}
    pictures[0].save(folder / "live.webp", lossless=True, quality=100, method=6, **options)
    pictures[2].save(folder / "live.png", optimize=True)


def test_the_story(browser: Any, tmp_path: Path) -> None:
    model, tokenizer = hc.load("bundled:qnli")
    with page_server(LiveModel(model, tokenizer, example_texts(model, None), origin=example_origin(None))) as server:
        page = LiveTab(browser.new_context(viewport=SIZE, color_scheme="light"), server).open("#head=L7H2")
        write(page, QUESTION, SENTENCE)
        whole = rows(page)["not_entailment"]
        assert float(whole[0]) > 0.9
        frames = [frame(page)]
        page.get_by_role("button", name="Which head matters here?").click()
        expect(page.locator(".sweep-words")).to_contain_text("Largest changes: L7H2")
        expect(page.locator(".sweep-words")).to_contain_text("No head alone turns the answer.")
        frames.append(frame(page))
        page.get_by_label("Group of heads").select_option(label="the 5 that support the answer most")
        page.get_by_role("button", name="Switch off this group").click()
        expect(page.locator(".headline")).to_contain_text("the answer changes")
        assert len(off(page)) == 5
        assert float(rows(page)["entailment"][1]) > 0.5
        frames.append(frame(page))
        cell(page, off(page)[0]).click()
        expect(page.locator(".headline")).to_contain_text("the answer stays")
        assert len(off(page)) == 4
        frames.append(frame(page))
        for _ in range(2):
            page.get_by_role("button", name="Undo").click()
        settled(page)
        assert rows(page)["not_entailment"] == whole
        page.context.close()
    assert len(set(frames)) == 4
    folder = Path(os.environ.get("HEADCOUNT_PICTURES") or tmp_path)
    save(frames, folder)
    assert (folder / "live.webp").stat().st_size < 600_000
    with image.open(folder / "live.webp") as recording:
        assert recording.n_frames == 4
