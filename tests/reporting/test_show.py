"""Results in notebooks: a real kernel runs the cells, and a real browser shows them where no script may run."""

from __future__ import annotations

import html
import io
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

import headcount as hc
from headcount.errors import HeadcountWarning, InvalidOption, StudyProblem, UnknownHead
from headcount.reporting.show import Shown
from tests.reporting import studies

MEGABYTE = 1_000_000
CELLS = {
    "study": "hc.show(study)",
    "sweep": "hc.show(swept)",
    "head": "hc.show(study, head='L2H9')",
    "map": "hc.show(hc.maps(model, tokenizer, ' '.join(['word'] * 126)), head='L0H0')",
    "wall": "hc.show(study, 'wall')",
    "curve": "hc.show(choice)",
    "choice": "choice",
}
SETUP = """
import headcount as hc
model, tokenizer = hc.load(hc.bundled())
data = hc.bundled_pairs()
swept = hc.sweep(model, tokenizer, data, task="qnli", how="zero", limit=4, out="study")
hc.measure(
    model, tokenizer, data, text=("question", "sentence"), only=("special", "position"), limit=4, out="study"
)
hc.maps(model, tokenizer, "Who wrote it?", "Anna Lund wrote it.", out="study")
choice = hc.choose(model, tokenizer, data, task="qnli", keep=100, steps=1, randoms=1, limit=40)
study = hc.open_study("study")
"""


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What a notebook on the bundled model displays, by the name of the cell: its output by kind."""
    place = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, *CELLS.values())]
    done = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(place)}}).execute()
    displayed = {}
    for name, cell in zip(CELLS, done.cells[1:], strict=True):
        (output,) = [one for one in cell.outputs if one.output_type == "execute_result"]
        displayed[name] = dict(output.data)
        assert sum(len(str(one)) for one in cell.outputs) < MEGABYTE, name
    return displayed


def test_every_cell_has_html_a_picture_and_a_line_of_text(cells: dict[str, dict[str, Any]]) -> None:
    for name, displayed in cells.items():
        assert len(displayed["text/html"]) > 200, name
        assert displayed["text/plain"].count("\n") < 2 or name == "choice"
        assert ("image/png" in displayed) == (name != "choice")
        assert "<script" not in displayed["text/html"]
        assert not re.search(r"""(?:src|href)=["'](?!data:)""", displayed["text/html"])


def test_what_the_cells_say(cells: dict[str, dict[str, Any]]) -> None:
    said = {name: html.unescape(displayed["text/html"]) for name, displayed in cells.items()}
    assert "without the head" in said["sweep"]
    assert "L11H11" in said["sweep"], "each head has a name where the pointer rests"
    assert "Attention of L2H9" in said["head"]
    assert "of 144" in said["head"], "the ranks of its numbers"
    assert "heads to prune" in said["choice"]
    assert "44 of 144: L" in said["choice"]


def test_a_browser_shows_every_cell_without_a_script_and_without_a_request(
    cells: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    """As in the sandboxed frames of VS Code and Colab: no script may run, nothing may be loaded."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium on the path")
    frames = "".join(
        f'<iframe sandbox title="{name}" width="1000" height="900" srcdoc="{html.escape(displayed["text/html"])}">'
        "</iframe>"
        for name, displayed in cells.items()
    )
    page_file = tmp_path / "notebook.html"
    page_file.write_text(f'<!DOCTYPE html><meta charset="utf-8"><title>cells</title>{frames}', encoding="utf-8")
    requests: list[str] = []
    complaints: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1200, "height": 900}, offline=True)
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(page_file.as_uri(), timeout=120_000)
        for name, displayed in cells.items():
            frame = page.frame_locator(f'iframe[title="{name}"]')
            if "image/png" in displayed:
                picture = frame.locator("img")
                box = picture.bounding_box(timeout=120_000)
                assert box["width"] > 200, name
                assert box["height"] > 100
                assert box["width"] <= 1000, "it is not wider than the frame"
                assert picture.get_attribute("alt")
            else:
                assert frame.locator("td").first.is_visible()
        heads = page.frame_locator('iframe[title="sweep"]').locator("span[title]")
        assert heads.count() == 144
        assert_tip_lies_on_head(page)
        assert [url for url in requests if not url.startswith(("file:", "data:", "about:"))] == []
        assert complaints == []
        browser.close()


def assert_tip_lies_on_head(page: Any) -> None:
    """The place of L11H0 in the picture is the last row and the first column of its squares."""
    frame = page.frame_locator('iframe[title="sweep"]')
    picture = frame.locator("img").bounding_box()
    first, last = (frame.locator("span[title]").nth(place).bounding_box() for place in (0, 132))
    assert frame.locator("span[title]").nth(132).get_attribute("title").startswith("L11H0\n")
    assert last["x"] == pytest.approx(first["x"], abs=1)
    assert last["y"] - first["y"] == pytest.approx(11 * first["height"], rel=0.05)
    assert picture["y"] < first["y"]
    assert last["y"] + last["height"] < picture["y"] + picture["height"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.other_study(tmp_path_factory.mktemp("shown") / "study")


@pytest.fixture(scope="module")
def swept() -> xr.Dataset:
    model, tokenizer = studies.classifier()
    return hc.sweep(model, tokenizer, studies.labelled(model, tokenizer, studies.sentences(20)), task="sst2")


def test_a_result_in_memory_looks_like_that_of_a_study(swept: xr.Dataset) -> None:
    shown = hc.show(swept)
    squares = shown.figure.axes[0].images[0].get_array()
    np.testing.assert_allclose(squares, swept["score"].values[0], atol=1e-3)
    copied = swept.copy()
    copied.encoding = {}
    assert hc.show(copied).title == shown.title, "a copy that has forgotten its name"


def test_the_same_of_a_study_a_part_of_it_and_a_folder(study: Path) -> None:
    tree = hc.open_study(study)
    titles = {hc.show(one).title for one in (study, str(study), tree, tree["sweep/head-zero"])}
    assert titles == {"Accuracy without the head"}
    assert "patterns" not in hc.show(tree["sweep/head-zero"]).others
    assert "roles" in hc.show(tree).others


def test_several_results_are_shown_together(swept: xr.Dataset) -> None:
    model, tokenizer = studies.classifier()
    maps = hc.maps(model, tokenizer, studies.TEXT)
    shown = hc.show([swept, maps], head="L1H2")
    assert shown.title == "Attention of L1H2"
    assert "Change of accuracy without the head" in [row.title for row in shown.rows]


def test_what_a_tip_says_is_the_number_of_its_head(swept: xr.Dataset) -> None:
    tips = hc.show(swept).tips
    assert [tip.says.partition("\n")[0] for tip in tips] == [
        f"L{layer}H{head}" for layer in range(3) for head in range(4)
    ]
    delta = float(swept["delta"].values[0, 1, 2])
    assert f"Change of accuracy without the head: {delta:+.3f} [" in tips[6].says
    assert "q = " in tips[6].says


def test_measures_maps_and_importance(swept: xr.Dataset) -> None:
    model, tokenizer = studies.classifier()
    data = studies.labelled(model, tokenizer, studies.sentences(12))
    texts = pd.DataFrame({"text": studies.sentences(4)})
    assert "map" not in hc.show(hc.measure(model, tokenizer, texts, text="text", only="special")).others
    assert hc.show(hc.maps(model, tokenizer, studies.TEXT)).title == "Attention maps of all 12 heads"
    assert "mportance" in hc.show(hc.importance(model, tokenizer, data, task="sst2")).title


def test_a_head_without_maps_is_framed(study: Path) -> None:
    shown = hc.show(study, head="L2H3")
    (frame,) = shown.figure.axes[0].patches
    assert frame.get_xy() == (2.5, 1.5)
    assert shown.rows


def test_a_hostile_study_stays_text(tmp_path: Path) -> None:
    path = studies.hostile_study(tmp_path / "study")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)  # characters that no font here has
        for shown in (hc.show(path), hc.show(path, "wall"), hc.show(path, head="L0H1")):
            content = shown._repr_html_()
            assert not re.search(r"<(?:script|svg|style|img src=x)", content)
            assert content.count("<img") == 1


def test_a_picture_is_written(swept: xr.Dataset, tmp_path: Path) -> None:
    assert hc.show(swept).save(tmp_path / "fig.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InvalidOption, match="ends in"):
        hc.show(swept).save(tmp_path / "fig.gif")


def test_a_picture_has_few_bytes_and_its_size(swept: xr.Dataset) -> None:
    shown = hc.show(swept)
    picture = Image.open(io.BytesIO(shown._repr_png_()))
    assert picture.size == tuple(np.floor(144 * shown.figure.get_size_inches()).astype(int))
    assert len(shown._repr_png_()) < 40_000
    assert isinstance(shown, Shown)
    assert repr(shown) == "<Accuracy without the head: a notebook displays it, .save('figure.pdf') writes it>"


@pytest.mark.parametrize("thing", [3, None, xr.Dataset(), xr.DataTree(), [], {"a": 1}, xr.Dataset({"x": 1})])
def test_what_is_no_result(thing: Any) -> None:
    with pytest.raises(InvalidOption, match=f"got {type(thing).__name__}, which is no result of Headcount"):
        hc.show(thing)


def test_what_cannot_be_shown(study: Path, swept: xr.Dataset) -> None:
    with pytest.raises(InvalidOption, match="got the figure 'curve'; this study has ablation"):
        hc.show(study, "curve")
    with pytest.raises(InvalidOption, match="has no effect on the figure 'ablation'"):
        hc.show(study, "ablation", head="L0H0")
    with pytest.raises(UnknownHead, match="L9H9"):
        hc.show(study, head="L9H9")
    with pytest.raises(InvalidOption, match="expected one"):
        hc.show(study, head="L1")
    with pytest.raises(InvalidOption, match="text=1"):
        hc.show(study, text=1)
    with pytest.raises(StudyProblem, match="there is no study folder"):
        hc.show("none")
    with pytest.raises(StudyProblem, match="not complete"):
        hc.show(swept.assign_attrs(complete=False))
