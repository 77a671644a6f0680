"""Can a page be read where its script may not run, and do strange words stay words?"""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from headcount.reporting.document import make_page
from headcount.reporting.view import View, read_view
from tests.reporting import studies
from tests.reporting.test_document import Page


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    return read_view(studies.pruned_study(tmp_path_factory.mktemp("study") / "study"))


PLAIN = {"p", "h1", "h2", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}


def test_what_is_read_without_a_script(view: View) -> None:
    """The findings and a row for each head, in words that stay words."""
    found = Page(make_page([(view, "study")]))
    assert set(re.findall(r"<(\w+)", found.plain)) <= PLAIN
    assert found.plain.count("<tr>") == 1 + view.layout.count
    findings = found.data["studies"][0]["findings"]
    assert findings
    for sentence in (each for finding in findings for each in finding["sentences"]):
        assert html.escape(sentence) in found.plain


def test_strange_words_stay_words(tmp_path: Path) -> None:
    found = Page(make_page([(read_view(studies.hostile_study(tmp_path / "study")), "study")]))
    assert set(re.findall(r"<(\w+)", found.plain)) <= PLAIN
