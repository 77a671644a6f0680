"""Cues on the page, in a real browser: rows, marks, a model's parts, the table as a file, and hostile words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.reporting.document import make_page
from tests import planted
from tests.reporting import studies
from tests.reporting.pages import CHROMIUM, OVERFLOW, Shelf, Visit, saved
from tests.reporting.test_cues import BOTH, view_of
from tests.statistical_cues.planted import choices

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")


def write(shelf: Shelf, name: str, result: Any) -> str:
    (shelf.place / f"{name}.html").write_text(make_page([(view_of(a=result), name)]), encoding="utf-8")
    return name


def rows(page: Any) -> Any:
    return page.locator("table.cues tbody tr")


def test_a_study_of_nothing_else_is_a_whole_page(visit: Visit, shelf: Shelf) -> None:
    page = visit(write(shelf, "cues", hc.cues(choices(), choices=BOTH)))
    assert 'One cue alone: "not"' in page.locator(".findings").inner_text()
    assert page.locator("h1").inner_text().startswith("study"), "no word of heads"
    assert rows(page).first.locator("th").inner_text() == "not"
    cells = rows(page).first.locator("td.right").all_inner_texts()
    assert cells[0].startswith("0.750 [0.645, 0.832]")
    assert cells[0].endswith("●")
    assert cells[1:3] == ["0.400", "80"]
    drawn = rows(page).first.get_by_role("img")
    assert drawn.get_attribute("aria-label") == "Productivity: 0.750 [0.645, 0.832], Chance: 0.500"
    name, content = saved(page, page.get_by_label("CSV of Strongest cues"))
    lines = content.decode("utf-8").splitlines()
    assert name.endswith(".csv")
    assert len(lines) == rows(page).count() + 1
    assert lines[1].startswith(",multiple-choice,not,80,0.75,")


@pytest.mark.parametrize("width", [390, 1440])
def test_a_model_by_part(visit: Visit, shelf: Shelf, tmp_path: Path, width: int) -> None:
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path)
    result = hc.cues(planted.texts(120), task="sst2", model=model, tokenizer=tokenizer, least=5)
    page = visit(write(shelf, f"model-{width}", result), width=width)
    parts = page.locator("table.parts tbody tr")
    assert parts.locator("th").all_inner_texts() == ["all", "cues right", "cues wrong", "no cue"]
    assert parts.first.locator("td.right").first.inner_text().startswith(f"{float(result['model_accuracy'][0]):.3f} [")
    assert parts.first.locator("td.right").nth(1).inner_text() == "120"
    assert rows(page).first.locator("td").first.inner_text() in ("negative", "positive")
    assert page.evaluate(OVERFLOW) <= 0


def test_hostile_words_are_text(visit: Visit, shelf: Shelf) -> None:
    hostile = [word.replace(" ", "_") for word in studies.HOSTILE[:3]]
    table = choices(60, 30, 20)
    for row, label in enumerate(table["label"]):  # each in the correct choice only: the strongest cues
        table.loc[row, BOTH[label]] += f" {hostile[row % 3]}"
    counted = hc.cues(table, choices=BOTH, tokens="whitespace", cased=True, least=3, bigrams=False)
    page = visit(write(shelf, "hostile-cues", counted))
    assert set(hostile) <= set(rows(page).locator("th").all_inner_texts()), "they are shown as they are written"
    assert page.locator("img").count() == 0
    assert page.evaluate(OVERFLOW) <= 0
