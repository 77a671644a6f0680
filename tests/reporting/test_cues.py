"""Cues as data of the page: the study's own numbers, its sentences, and the figure."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import headcount as hc
from headcount.core.heads import Layout
from headcount.reporting.cues import DRAWN, SHOWN, as_relations, find_cue_tables
from headcount.reporting.document import describe
from headcount.reporting.figure import choose_drawing
from headcount.reporting.gaps import find_gaps
from headcount.reporting.view import View, read_view
from headcount.story.cues import cue_sentences
from tests import planted
from tests.statistical_cues.planted import choices, sentences

BOTH = ["first", "second"]


def view_of(**results: xr.Dataset) -> View:
    return View("study", {f"cues/{name}": result for name, result in results.items()}, (), Layout({}))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, xr.Dataset]:
    out = tmp_path_factory.mktemp("cues") / "study"
    return out, hc.cues(choices(), choices=BOTH, out=out)


def test_the_rows_are_the_studys(study: tuple[Path, xr.Dataset]) -> None:
    out, result = study
    (told,) = find_cue_tables(read_view(out))
    assert told["title"] == "Strongest cues"
    assert [row["cue"] for row in told["rows"]] == [str(cue) for cue in result["cue"].values[:SHOWN]]
    first = told["rows"][0]
    assert (first["cue"], first["applicability"], first["label"], first["significant"]) == ("not", 80, None, True)
    known = result.sel(cue="not")
    assert first["productivity"] == pytest.approx(
        [0.75, float(known["productivity_low"]), float(known["productivity_high"])], rel=1e-3
    )
    assert (first["coverage"][0], first["chance"]) == (0.4, 0.5)
    assert told["parts"] == []
    assert told["said"]["productivity"]["title"] == "Productivity"


def test_a_study_of_nothing_else_says_what_was_found(study: tuple[Path, xr.Dataset]) -> None:
    out, result = study
    described, _ = describe(read_view(out), str(out))
    assert described["findings"][0]["sentences"][0].startswith("Cues in 200 examples")
    assert described["findings"][0]["sentences"][1:] == cue_sentences(result)
    assert len(described["cues"]) == 1
    assert "which words give the label away" not in [gap["what"] for gap in described["gaps"]]


def test_labels_and_a_model(tmp_path: Path) -> None:
    model, tokenizer, table = planted.classifier(), planted.tokenizer(tmp_path), planted.texts(120)
    result = hc.cues(table, task="sst2", model=model, tokenizer=tokenizer, least=5)
    (told,) = find_cue_tables(view_of(classification=result))
    assert told["labelled"]
    assert {row["label"] for row in told["rows"]} == {"negative", "positive"}
    assert [part["part"] for part in told["parts"]] == ["all", "cues right", "cues wrong", "no cue"]
    assert told["parts"][0]["examples"] == 120
    assert told["parts"][0]["accuracy"][0] == pytest.approx(float(result["model_accuracy"][0]), rel=1e-3)
    assert None in told["parts"][3]["accuracy"], "a part without examples has no accuracy"


def test_results_of_another_shape_are_something_else() -> None:
    """Such as numbers of heads beside the cues."""
    assert find_cue_tables(view_of(heads=xr.Dataset({"effect": ("head", [1.0])}))) == []
    two = view_of(classification=hc.cues(sentences()), **{"classification@mine": hc.cues(sentences(seed=1))})
    assert [told["title"] for told in find_cue_tables(two)] == ["Strongest cues", "Strongest cues, mine"]


def test_the_figure() -> None:
    result = hc.cues(choices(), choices=BOTH, least=2)
    view = view_of(choices=result)
    figure = choose_drawing(view, "cues")(Figure(layout="constrained"))
    figure.savefig(io.BytesIO(), format="png")
    ax = figure.axes[0]
    points: dict[str, Any] = {str(line.get_label()): np.asarray(line.get_xdata()) for line in ax.lines}
    shown = min(DRAWN, result.sizes["cue"])
    np.testing.assert_allclose(points["Productivity"], result["productivity"].values[:shown], rtol=1e-3)
    assert set(points["Chance"]) == {0.5}
    assert ax.get_yticklabels()[0].get_text() == "not"
    assert ax.texts[0].get_text() == "80"
    labelled = as_relations(find_cue_tables(view_of(a=hc.cues(sentences())))[0])
    assert "great: 1" in [row["relation"] for row in labelled["rows"]]


@pytest.mark.parametrize(("kind", "there"), [("classification", True), ("translation", False)])
def test_only_labels_can_be_given_away(kind: str, there: bool) -> None:
    swept = xr.Dataset(attrs={"task": "x", "kind": kind})
    gaps = find_gaps(View("study", {"sweep/head": swept}, (), Layout({})), "study")
    assert any(gap["what"] == "which words give the label away" for gap in gaps) == there
