"""One head in numbers: words first, then the effect, then what it is most extreme in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headcount as hc
from headcount.core.heads import Head
from headcount.reporting.colourings import find_colourings
from headcount.reporting.head_card import MOST, head_rows, rank_of
from headcount.reporting.view import View, read_view
from tests.reporting import studies


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.other_study(tmp_path_factory.mktemp("card") / "study")


@pytest.fixture(scope="module")
def view(study: Path) -> View:
    return read_view(study)


def test_words_then_the_effect_then_the_most_extreme(view: View) -> None:
    rows = head_rows(view, Head("encoder", 1, 2))
    assert len(rows) == MOST
    titles = [row.title for row in rows]
    assert titles[:2] == ["The pattern of its maps", "What it does"]
    assert titles[2] == "Change of accuracy without the head"
    assert all("of 12" in row.rank for row in rows[2:])
    last = [int(row.rank.split(" of ")[0].split(" to ")[-1]) for row in rows[3:]]
    assert last == sorted(last), "the most extreme first"


def test_the_numbers_are_those_of_the_study(study: Path, view: View) -> None:
    sweep = hc.open_study(study)["sweep/head-zero"]
    row = next(row for row in head_rows(view, Head("encoder", 0, 3)) if row.title.startswith("Change of accuracy"))
    delta, low, high = (float(sweep[name].values[0, 0, 3]) for name in ("delta", "low", "high"))
    said = [float(number) for number in re.findall(r"[+-][\d.]+", row.value)]
    assert said == pytest.approx([delta, low, high], abs=1.1e-3)


def test_ties_share_their_ranks() -> None:
    told = {"kind": "diverging", "values": [0.0, -0.2, 0.2, None, 0.0]}
    assert rank_of(told, 1) == rank_of(told, 2) == (1, 2, 4)
    assert rank_of(told, 0) == (3, 4, 4)


def test_fewer_numbers_where_there_are_fewer(view: View) -> None:
    assert len(head_rows(view, Head("encoder", 0, 0), most=2)) == 2
    assert all(colouring["title"] for colouring in find_colourings(view))
