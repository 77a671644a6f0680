"""Are numbers that are packed the same when they are unpacked?"""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from headcount.reporting.document import make_page
from headcount.reporting.view import View, read_view
from tests.reporting import studies
from tests.reporting.test_document import Page


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    return read_view(studies.pruned_study(tmp_path_factory.mktemp("study") / "study"))


def test_many_numbers_are_packed_and_nothing_is_lost(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Page(make_page([(view, "study")])).data["studies"][0]["colourings"]
    monkeypatch.setattr("headcount.reporting.packed_numbers.LARGE", 100)
    found = Page(make_page([(view, "study")]))
    (study,) = found.data["studies"]
    assert study["packed"] == "s0-numbers"
    first = [one for one in study["colourings"] if "values" in one]
    assert 0 < len(first) < len(whole)
    packed = json.loads(zlib.decompress(base64.b64decode(found.maps["s0-numbers"])))
    by_id = {one["id"]: one for one in [*first, *packed]}
    assert [by_id[one["id"]] for one in study["colourings"]] == whole
