"""The live page in a real browser: a planted head's change, undo, links, keys, a phone, two tabs, a killed server."""

from __future__ import annotations

import base64
import io
import json
import re
import runpy
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from tests import planted
from tests.live_server import small
from tests.live_server.page_server import (
    LiveTab,
    PageServer,
    cell,
    copied,
    keep_copies,
    link,
    off,
    page_server,
    rows,
    settled,
    write,
)
from tests.reporting.pages import CHROMIUM, OVERFLOW
from tests.reporting.studies import HOSTILE

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
expect = playwright.expect
AXE = Path(str(files("headcount.reporting"))) / "page" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => (await axe.run(document, { resultTypes: ['violations'] })).violations.flatMap((one) =>
  one.nodes.map((node) => `${one.id}: ${node.target.join(' ')}: ${node.failureSummary}`))"""

Visit = Callable[..., Any]


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    """Open the page of a server; at the end of every test it has asked no other place and complained of nothing."""
    opened: list[LiveTab] = []
    contexts = []

    def go(server: PageServer, link: str = "", context: Any = None, width: int = 1280, **options: Any) -> Any:
        if context is None:
            context = browser.new_context(viewport={"width": width, "height": 900}, **options)
            contexts.append(context)
        opened.append(LiveTab(context, server))
        keep_copies(opened[-1].page)
        return opened[-1].open(link)

    yield go
    assert [problem for tab in opened for problem in tab.problems] == []
    for context in contexts:
        context.close()


def without(server: PageServer, heads: str, *texts: str, **options: Any) -> torch.Tensor:
    """The probabilities by `hc.ablated`, which the page must show."""
    live = server.live
    with torch.no_grad(), hc.ablated(live.model, heads, **options):
        inputs = live.tokenizer(*texts, return_tensors="pt")
        return live.model(**inputs).logits[0].softmax(-1)


def shown(value: float) -> str:
    return f"{value:.3f}".replace("-", "\u2212")


def test_a_planted_head_is_switched_off_and_on_again(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    write(page, "so good")
    whole = rows(page)["positive"]
    assert whole[0] > "0.8"
    assert whole[1:] == ["\u2013", "\u2013"], "nothing is off yet"
    cell(page, "L0H0").click()
    expect(page.locator(".headline")).to_contain_text("the answer changes")
    expected = float(without(classifier, "L0H0", "so good")[1])
    difference = shown(expected - float(whole[0]))
    assert rows(page)["positive"][:2] == [whole[0], shown(expected)]
    assert rows(page)["positive"][2][:4] == difference[:4]
    assert off(page) == ["L0H0"]
    cell(page, "L1H1").click()
    assert off(page) == ["L0H0", "L1H1"]
    for left in (["L0H0"], []):
        page.get_by_role("button", name="Undo").click()
        settled(page)
        assert off(page) == left
    assert rows(page)["positive"] == whole
    page.get_by_role("button", name="Redo").click()
    expect(page.locator(".headline")).to_contain_text("the answer changes")
    page.get_by_role("button", name="All on again").click()
    settled(page)
    assert rows(page)["positive"] == whole


def test_the_answer_follows_what_is_typed(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    page.locator("textarea").first.fill("")
    expect(page.locator(".live-answer")).to_contain_text("Type a text")
    page.locator("textarea").first.press_sequentially("it is so bad")
    expect(page.locator(".headline")).to_contain_text("negative")
    expect(page.locator(".arcs")).to_contain_text("bad")
    assert float(rows(page)["negative"][0]) > 0.8
    page.get_by_label("Examples").select_option(index=1)
    settled(page)
    assert page.locator("textarea").first.input_value() == small.EXAMPLES[0][0]


def test_groups_rectangles_and_rows(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    write(page, "so good")
    page.get_by_label("Group of heads").select_option(label="L1")
    page.get_by_role("button", name="Switch off this group").click()
    assert off(page) == ["L1H0", "L1H1"]
    page.locator(".layer-name", has_text="L0").click()
    assert off(page) == ["L0H0", "L0H1", "L1H0", "L1H1"]
    page.locator(".layer-name", has_text="L0").click()
    assert off(page) == ["L1H0", "L1H1"]
    page.get_by_role("button", name="All on again").click()
    first, last = (cell(page, head).bounding_box() for head in ("L0H1", "L1H1"))
    page.keyboard.down("Shift")
    page.mouse.move(first["x"] + 4, first["y"] + 4)
    page.mouse.down()
    page.mouse.move(last["x"] + 9, last["y"] + 9, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert off(page) == ["L0H1", "L1H1"], "and the click at its end switches nothing"
    page.get_by_role("button", name="10 at random").click()
    assert len(off(page)) == 4
    settled(page)


def test_replacements_and_strengths(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    write(page, "so good")
    cell(page, "L0H0").click()
    page.get_by_label("Strength").focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    expected = without(classifier, "L0H0", "so good", strength=0.5)
    assert rows(page)["positive"][1] == shown(float(expected[1]))
    page.get_by_label("Replaced by").select_option("mean")
    mean = without(classifier, "L0H0", "so good", how="mean", reference=classifier.live.means(), strength=0.5)
    assert rows(page)["positive"][1] == shown(float(mean[1]))
    page.get_by_role("button", name="Another selection").click()
    cell(page, "L0H1").click()
    settled(page)
    assert re.findall(r"off=([^&]*)", link(page)) == ["L0H0%7Emean%7E0.5", "L0H1%7Ezero%7E1"]
    page.get_by_role("button", name="Remove selection 1").click()
    assert off(page) == ["L0H1"]


def test_a_link_is_restored_in_a_new_tab(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier, "#text=so+good&off=L0H0%7Euniform%7E0.5&off=L1%7Ezero%7E1&head=L1H0&theme=dark")
    before = rows(page)
    expected = link(page)
    other = visit(classifier, context=page.context)
    other.goto(copied(page, "Copy link"))
    other.reload()
    other.locator(".live-heads svg[role=grid]").wait_for()
    assert rows(other) == before
    assert off(other) == ["L0H0", "L1H0", "L1H1"]
    assert other.locator("#chosen-head").inner_text() == "L1H0"
    assert other.evaluate("document.documentElement.dataset.dark") == "yes"
    assert link(other) == expected


def test_a_wrong_link_breaks_nothing(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier, "#text=good&off=L9H9%7Ewrong%7E7&off=%3Cimg%3E&head=__proto__&question=-4&by=constructor")
    assert off(page) == []
    assert "positive" in rows(page)


def test_which_head_matters_here(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    write(page, "so good")
    page.get_by_role("button", name="Which head matters here?").click()
    expect(page.locator(".sweep-words")).to_contain_text("Largest changes: L0H0")
    expect(page.locator(".sweep-words")).to_contain_text("1 head turns the answer alone")
    probabilities = without(classifier, "L0H0", "so good").log()
    change = float(probabilities[1]) - float(without(classifier, "L1H0", "so good").log()[1])  # L1H0 does nothing
    assert cell(page, "L0H0").get_attribute("aria-label").split()[-1] == shown(change)
    expect(page.locator(".live-heads .legend")).to_contain_text("supports this answer")
    page.get_by_label("For the answer").select_option(label="negative")
    expect(cell(page, "L0H0")).to_have_attribute("aria-label", re.compile(r"\+\d"))
    page.locator("textarea").first.press_sequentially(" so")
    expect(page.locator(".sweep-words")).to_be_empty()


def test_everything_by_keyboard_alone(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    seen: list[str] = []

    def tab_to(name: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent"))
            if seen[-1].startswith(name):
                return
        raise AssertionError(f"{name} is not reached: {seen}")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the text"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.keyboard.press("Control+A")
    page.keyboard.type("so good")
    tab_to("L0H0")
    page.keyboard.press("Space")
    expect(page.locator(".headline")).to_contain_text("the answer changes")
    assert page.evaluate("document.activeElement.dataset.head") == "0", "the grid keeps the focus"
    page.keyboard.press("ArrowDown")
    expect(page.locator("#chosen-head")).to_have_text("L1H0")
    page.keyboard.press("Enter")
    assert off(page) == ["L0H0", "L1H0"]
    page.keyboard.press("Control+Z")
    page.keyboard.press("Control+Z")
    assert off(page) == []
    page.keyboard.press("Control+Shift+Z")
    assert off(page) == ["L0H0"]
    settled(page)


def test_two_tabs_at_once(visit: Visit, classifier: PageServer) -> None:
    """Neither ever shows an answer without the heads of the other."""
    first = visit(classifier)
    second = visit(classifier, context=first.context)
    for page, head in ((first, "L0H0"), (second, "L0H1")):
        write(page, "good down")
        cell(page, head).click()
    own = {page: rows(page)["positive"][1] for page in (first, second)}
    assert own[first] == shown(float(without(classifier, "L0H0", "good down")[1]))
    assert own[second] == shown(float(without(classifier, "L0H1", "good down")[1]))
    for number in range(6):
        text = "good down" + " so" * (number % 3)
        for page in (first, second):
            page.locator("textarea").first.fill(text)
    assert {page: rows(page)["positive"][1] for page in (first, second)} != {}
    for page, head in ((first, "L0H0"), (second, "L0H1")):
        expected = without(classifier, head, "good down so so")
        assert rows(page)["positive"][1] == shown(float(expected[1]))


def test_a_killed_server_is_told_and_found_again(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    write(page, "so good")
    cell(page, "L0H0").click()
    before = rows(page)
    classifier.stop()
    cell(page, "L1H0").click()
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text(f"headcount live model --port {classifier.port}")
    page.locator("textarea").first.fill("so bad")
    classifier.start()
    expect(banner).to_be_hidden()
    settled(page)
    assert rows(page) != before
    assert off(page) == ["L0H0", "L1H0"]
    assert page.locator("textarea").first.input_value() == "so bad"
    expect(page.locator(".headline")).to_contain_text("negative")


def test_hostile_text_is_text(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    for text in HOSTILE[:3]:
        write(page, text, text)
    write(page, " ".join(HOSTILE), "</textarea><script>alert(1)</script>")
    assert page.locator("textarea").first.input_value() == " ".join(HOSTILE)
    assert page.locator("main script, main img, main iframe").count() == 0
    link(page)
    page.reload()
    settled(page)
    assert page.locator("textarea").nth(1).input_value() == "</textarea><script>alert(1)</script>"


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1024, "dark")])
def test_it_fits_and_no_rule_is_broken(visit: Visit, classifier: PageServer, width: int, scheme: str) -> None:
    page = visit(classifier, "#text=so+good&off=L0H0%7Ezero%7E1", width=width, color_scheme=scheme)
    page.get_by_role("button", name="Which head matters here?").click()
    expect(page.locator(".sweep-words")).to_contain_text("Largest changes")
    assert page.evaluate(OVERFLOW) <= 0
    summary = page.locator(".summary")
    if width < 900:
        expect(summary).to_be_visible()
        assert "1 off" in summary.inner_text()
    else:
        expect(summary).to_be_hidden()
    if AXE.is_file():
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate(RUN) == []


def test_the_copied_script_gives_the_same_answer(
    visit: Visit, classifier: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(classifier, "#text=so+good&off=L0H0%7Euniform%7E0.5&off=L1%7Ezero%7E1")
    said = copied(page, "Copy as Python")
    assert said.count("hc.ablated(") == 2
    monkeypatch.chdir(Path(classifier.live.model.config._name_or_path).parent)
    script = tmp_path / "script.py"
    script.write_text(said, encoding="utf-8")
    output = runpy.run_path(str(script))["output"]
    assert shown(float(output.logits.detach()[0].softmax(-1)[1])) == rows(page)["positive"][1]
    command = copied(page, "Copy as command")
    assert "echo L0H0 > heads.txt" in command
    assert "--sets heads.txt --how uniform" in command
    assert str(Path.home()) not in said + command


def test_a_token_is_asked_for_and_not_passed_on(visit: Visit, classifier: PageServer) -> None:
    token = "a-token-of-some-length"
    with page_server(classifier.live, token=token) as server:
        page = visit(server, f"#token={token}&text=so+good")
        assert rows(page)["positive"][0] > "0.8"
        assert token not in page.url
        assert token not in copied(page, "Copy link")
        other = visit(server)
        expect(other.get_by_role("alert")).to_contain_text("needs its token")
        other.get_by_label("Token").fill(token)
        other.keyboard.press("Enter")
        other.locator(".live-heads svg[role=grid]").wait_for()
        settled(other)


def test_a_study_says_what_it_knows(visit: Visit, classifier: PageServer, tmp_path: Path) -> None:
    live = classifier.live
    path = tmp_path / "study"
    data = planted.texts(40)
    hc.sweep(live.model, live.tokenizer, data, task="sst2", how="zero", out=path)
    hc.measure(live.model, live.tokenizer, data, out=path)
    hc.maps(live.model, live.tokenizer, "so good", out=path)
    from headcount.live_server.example_texts import example_origin, example_texts
    from headcount.live_server.live_model import LiveModel
    from headcount.live_server.served_study import ServedStudy

    served = ServedStudy(path, live.model)
    known = LiveModel(live.model, live.tokenizer, example_texts(live.model, served), origin=example_origin(served))
    with page_server(known, study=served) as server:
        page = visit(server, "#text=so+good")
        cell(page, "L0H0").hover()
        expect(page.locator("#chosen-head")).to_have_text("L0H0")
        expect(page.locator(".facts")).to_contain_text("Without it accuracy changes by")
        page.get_by_role("button", name="All its numbers").click()
        expect(page.get_by_role("dialog")).to_contain_text("All its numbers")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(page.locator(".live-heads .legend")).to_contain_text("significant (q < 0.05")
        page.get_by_label("Colour by").select_option("roles")
        expect(page.locator(".live-heads .legend")).to_contain_text("attends broadly")
        write(page, "good xylophone " * 20)
        warned = page.locator(".unlike")
        expect(warned).to_contain_text("the study's texts have")
        expect(warned).to_contain_text("unknown to the tokenizer; the study's texts have none")
        write(page, "so good", "so bad")
        expect(warned).to_contain_text("It is a pair; the study's texts are single texts.")
        write(page, data["sentence"][0], "")
        expect(warned).to_be_empty()


def test_models_that_guess_write_and_translate(visit: Visit) -> None:
    with page_server(small.masked()) as server:
        page = visit(server)
        write(page, "the [MASK] chased a [MASK]")
        assert page.locator(".question").count() == 2
        page.locator(".question").nth(1).click()
        expect(page.locator(".question").nth(1)).to_have_attribute("aria-pressed", "true")
        write(page, "the dog")
        expect(page.locator(".live-answer")).to_contain_text("Type [MASK] for the word")
    with page_server(small.decoder()) as server:
        page = visit(server, "#text=the+dog+chased&off=L1%7Ezero%7E1")
        expect(page.locator(".written")).to_have_count(2)
        expect(page.locator(".continuations")).not_to_contain_text("\u2026")
        live = server.live
        inputs = live.tokenizer("the dog chased", return_tensors="pt")
        made = live.model.generate(**inputs, max_new_tokens=24, do_sample=False, pad_token_id=0)
        expected = live.tokenizer.decode(made[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        assert page.locator(".written p").first.inner_text().strip() == expected.strip()
    with page_server(small.translator()) as server:
        page = visit(server, "#text=the+dog+chased&head=cross.L0H1")
        expect(page.locator(".written")).to_have_count(1)
        cell(page, "cross.L1H0").click()
        settled(page)
        assert off(page) == ["cross.L1H0"]
        assert page.locator(".live-map svg[aria-label^='Attention map']").count() == 1


def picture(kind: str, width: int, height: int) -> bytes:
    """A file with a gradient of greys."""
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    pixels = np.linspace(0, 255, width * height).reshape(height, width).astype(np.uint8)
    image.fromarray(pixels).convert("RGB").save(file, kind)
    return file.getvalue()


PASTE = """(bytes) => {
  const given = new DataTransfer();
  given.items.add(new File([new Uint8Array(bytes)], "pasted.png", { type: "image/png" }));
  dispatchEvent(new ClipboardEvent("paste", { clipboardData: given }));
}"""


def test_a_model_of_images(visit: Visit, tmp_path: Path) -> None:
    live = small.vision(tmp_path)
    with page_server(live) as server:
        page = visit(server, "#head=L1H0")
        assert list(rows(page)) == ["cat", "dog", "ship"]
        cell(page, "L0H1").click()
        file = picture("PNG", 30, 20)
        page.get_by_label("Image file").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": file})
        settled(page)
        url = f"data:image/png;base64,{base64.b64encode(file).decode()}"
        expect(page.locator(".given-image")).to_have_attribute("src", url)
        inputs = live.read((url,)).inputs
        with torch.no_grad(), hc.ablated(live.model, "L0H1"):
            expected = live.model(**inputs).logits[0].softmax(-1)
        expect(page.locator("table.answers tbody tr").first).to_contain_text(shown(float(expected[0])))
        # Where a patch looks, by pointer and by key.
        page.locator(".patch-map .patch").nth(4).click()
        expect(page.locator(".patch-map")).to_have_attribute("aria-label", re.compile("Where 1,1 looks"))
        page.locator(".patch-map").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".patch-map")).to_have_attribute("aria-label", re.compile("Where 2,1 looks"))
        page.keyboard.press("ArrowUp")
        expect(page.locator(".patch-map")).to_have_attribute("aria-label", re.compile("Where 1,1 looks"))
        page.get_by_role("button", name="From [CLS]").click()
        page.get_by_role("button", name="Which head matters here?").click()
        expect(page.locator(".sweep-words")).to_contain_text("Largest changes")
        # A paste; a format that is not sent as it is; a file that is no image.
        page.evaluate(PASTE, list(picture("PNG", 8, 8)))
        expect(page.locator(".image-box")).to_contain_text("pasted.png")
        settled(page)
        large = {"name": "large.webp", "mimeType": "image/webp", "buffer": picture("WEBP", 3000, 20)}
        page.get_by_label("Image file").set_input_files(large)
        expect(page.locator(".given-image")).to_have_attribute("src", re.compile("^data:image/jpeg"))
        assert page.locator(".given-image").evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 1024
        settled(page)
        wrong = {"name": "wrong.png", "mimeType": "image/png", "buffer": b"no image"}
        page.get_by_label("Image file").set_input_files(wrong)
        expect(page.locator(".image-box")).to_contain_text("cannot read that file as an image")
        assert "text=" not in link(page)
        assert off(page) == ["L0H1"]
        expect(page.get_by_role("button", name="Copy as command")).to_have_count(0)
        assert page.evaluate(OVERFLOW) <= 0
        if AXE.is_file():
            page.evaluate(AXE.read_text(encoding="utf-8"))
            assert page.evaluate(RUN) == []


def test_the_copied_script_of_an_image(visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = small.vision(tmp_path / "model")
    live.model.config._name_or_path = str(tmp_path / "model")
    with page_server(live) as server:
        page = visit(server, "#off=L1~uniform~1")
        said = copied(page, "Copy as Python")
        wanted = rows(page)["cat"][1]
    monkeypatch.chdir(tmp_path)
    url = page.locator(".given-image").get_attribute("src")
    (tmp_path / "image.png").write_bytes(base64.b64decode(url.partition(",")[2]))
    script = tmp_path / "script.py"
    script.write_text(said, encoding="utf-8")
    output = runpy.run_path(str(script))["output"]
    assert shown(float(output.logits.detach()[0].softmax(-1)[0])) == wanted


def test_requests_that_are_refused_are_told(visit: Visit, classifier: PageServer) -> None:
    page = visit(classifier)
    page.route(
        "**/api/answer",
        lambda route: route.fulfill(status=507, body=json.dumps({"error": "too long <b>", "code": "memory"})),
    )
    page.locator("textarea").first.fill("so good")
    expect(page.get_by_role("alert").last).to_have_text("too long <b>")
    page.unroute("**/api/answer")
    write(page, "so bad")
    expect(page.locator(".headline")).to_contain_text("negative")
