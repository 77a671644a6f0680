"""Captions name the model, the task, the metric and the texts of what is drawn."""

from __future__ import annotations

import xarray as xr

from headcount.reporting.caption import LONGEST, colouring_caption, result_caption, study_model, text_caption
from headcount.reporting.text_maps import TextMaps
from tests.reporting.drawn import view_of

SWEEP = xr.Dataset(
    {"loss": ("example", [0.1, 0.2])}, attrs={"model": "/home/me/tuned", "task": "mrpc", "metric": "f1", "by": "head"}
)
COMPARED = xr.Dataset({"a": ("example", [1.0])}, attrs={"model": "google/bert", "other_model": "/x/tuned"})
VIEW = view_of({"measures/links@a/b": COMPARED, "sweep/head-zero": SWEEP})


def test_model_task_metric_and_examples() -> None:
    assert result_caption(VIEW, "sweep/head-zero") == "tuned · mrpc, f1 · 2 examples"
    assert result_caption(VIEW, "measures/links@a/b") == "tuned minus google/bert · 1 text"
    assert result_caption(VIEW, "sweep/none") == "tuned"


def test_the_result_of_a_number_with_a_label() -> None:
    assert colouring_caption(VIEW, {"id": "measures/links@a/b/verb: subject:gain"}).startswith("tuned minus")


def test_the_model_that_was_scored() -> None:
    assert study_model(VIEW) == "tuned"
    assert study_model(view_of({})) == ""


def test_the_text_of_maps() -> None:
    attributes = {"text": "Who?", "pair": "Anna.", "model": "m", "pooled": 4}
    maps = TextMaps("text-0", xr.Dataset(attrs=attributes))
    assert text_caption(maps) == "m · Who? | Anna. · each cell is 4 x 4 tokens"
    long = TextMaps("text-0", xr.Dataset(attrs={"text": "word " * 200}))
    assert len(text_caption(long)) <= LONGEST + 1
