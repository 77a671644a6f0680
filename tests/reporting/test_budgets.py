"""Budgets for the page: plain numbers, those of the held-out half, and the step that the other half selected."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.core.heads import Layout
from headcount.reporting.budgets import budget_halves, find_budgets
from headcount.reporting.view import View, read_view
from headcount.story.budgets import budget_sentences
from tests.planted_budgets import CONFIRMED, SEQ2SEQ, budget_dataset
from tests.reporting import studies
from tests.reporting.said import all_sentences


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    return read_view(studies.budget_study(tmp_path_factory.mktemp("budget") / "study"))


def test_the_numbers_are_those_of_the_held_out_half(view: View) -> None:
    (told,) = find_budgets(view)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert (told["name"], told["chosen"], told["budget"]) == ("prune", 2, "tolerance=1")
    held_out = view.results["pruning/budget@prune-confirming"]
    base = float(held_out["baseline"])
    assert told["baseline"] == pytest.approx([base, base - 0.02, base + 0.02])
    for index, line in enumerate(told["lines"]):
        stored = held_out.isel(order=index)
        assert line["order"] == str(held_out["order"].values[index])
        for key, values in (
            ("score", stored["score"].values),
            ("speed", stored["speed"].values),
            ("low", base + stored["low"].values),
        ):
            found = np.array(line[key], dtype=float)
            np.testing.assert_allclose(found, values, atol=1e-4, rtol=1e-3, equal_nan=True)
        assert line["units"] == stored["units_left"].values[:, 0].astype(int).tolist(), "counts are not rounded"
    assert told["said"]["speed"] == {"title": "Measured speed", "unit": "times the whole model's"}


def test_the_sentences_are_among_the_findings(view: View) -> None:
    choosing, confirming = budget_halves(view)["prune"]
    sentences = budget_sentences(choosing, confirming)
    assert len(sentences) == 8
    assert [one for one in all_sentences(view) if one in sentences] == sentences


def test_layers_without_a_block_are_left_out() -> None:
    one = budget_dataset(CONFIRMED, 10_000, whole=SEQ2SEQ, chosen=None)
    results = {f"pruning/budget@small-{half}": one for half in ("choosing", "confirming")}
    (told,) = find_budgets(View("study", results, (), Layout({})))
    assert [(block["stack"], block["layer"], block["heads"], block["units"]) for block in told["blocks"]] == [
        *(("encoder", layer, 4, 32) for layer in range(3)),
        *(("decoder", layer, 4, 48) for layer in range(2)),
        *(("cross", layer, 4, None) for layer in range(2)),
    ]
    assert told["lines"][0]["units"][2] == [16, 16, 16, 24, 24, None, None]
    assert told["chosen"] is None


def test_a_half_alone_is_no_result() -> None:
    one = budget_dataset(CONFIRMED, 10_000)
    for half in ("choosing", "confirming"):
        assert find_budgets(View("study", {f"pruning/budget@prune-{half}": one}, (), Layout({}))) == []


def test_a_study_of_nothing_else_makes_a_page(view: View, tmp_path: Path) -> None:
    page = hc.report(studies.unchosen_study(tmp_path / "study"), tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Nothing is selected for the budget weights=9%" in page
