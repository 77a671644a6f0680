"""What was cut and left out is said."""

from __future__ import annotations

import xarray as xr

from headcount.story.notes import blank_note, causal_note, measure_notes, probe_notes
from tests.story.trees import NAN, tree


def test_left_out() -> None:
    distances = xr.Dataset(
        {
            "p": ("stack", [0.001, NAN, 0.5]),
            "within_layers": ("stack", [0.25, NAN, 0.1]),
            "between_layers": ("stack", [0.5, NAN, 0.2]),
        },
        coords={"stack": ["encoder", "decoder", "cross"]},
    )
    attrs = {"cut": 3, "texts": 9, "left_out": {"sentences": "the texts are no pairs", "links": "no trees"}}
    assert measure_notes(tree(attrs, distances=distances)) == [
        "3 texts were longer than the model takes and were cut.",
        "Heads of one layer are 0.250 nats apart, heads of different layers 0.500 (encoder, p = 0.001).",
        "Heads of one layer are 0.100 nats apart, heads of different layers 0.200 (cross, p = 0.5).",
        "sentences was left out: the texts are no pairs.",
        "links was left out: no trees.",
    ]
    assert measure_notes(tree({"cut": 0, "left_out": {}})) == []


def test_blank_rows() -> None:
    assert blank_note({"blank_rows": {"count": 1200, "of": 9815, "rows": [3]}}) == [
        "1,200 of 9,815 rows of the data are blank and were left out."
    ]
    assert blank_note({"blank_rows": {"count": 1, "of": 12, "rows": [3]}}) == [
        "1 of 12 rows of the data is blank and was left out."
    ]
    assert blank_note({"blank_rows": {"count": 0, "of": 12, "rows": []}}) == []
    assert blank_note({"task": "an older study knows of no blank rows"}) == []


def test_what_a_probe_left_out() -> None:
    lost = {"without a token": 1, "sharing a token": 1200, "mentions far away": 4}
    assert probe_notes({"lost": lost, "cut": 2, "blank_rows": {"count": 1, "of": 9}}) == [
        "1 word is left out: without a token.",
        "1,200 words are left out: sharing a token.",
        "2 texts were longer than the model takes and were cut.",
        "1 of 9 rows of the data is blank and was left out.",
    ]
    assert probe_notes({}) == []


def test_only_causal_models_have_consequences() -> None:
    assert causal_note(xr.Dataset(coords={"stack": ["encoder", "decoder"]}), "so") == []
    [said] = causal_note(xr.Dataset(coords={"stack": ["decoder"]}), "so")
    assert said == "This model's words see only those before them: so."
