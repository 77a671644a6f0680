"""Sentences on classifiers say what their intervals allow, and what the numbers depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.core.probe_names import ATTENTION, BOTH, DISTANCE
from headcount.probing.classifiers.scores import CONTROLS, RANDOM, RIGHT_BRANCHING
from headcount.story.classifiers import classifier_rows, classifier_sentences, heading

PROBES = [RIGHT_BRANCHING, DISTANCE, ATTENTION, BOTH, *CONTROLS]
ATTRIBUTES = {
    "split": {"train": 80, "development": 10, "test": 10},
    "too_long": 0,
    "lost": {"without a token of their own": 0},
    "vectors_from": "the model's input embeddings",
    "vectors_known": 1.0,
    "root": "special tokens",
    "cut": 0,
}


def probed(**attributes: Any) -> xr.Dataset:
    uas = np.array([0.3, 0.6, 0.5, 0.62, 0.1, 0.2])
    weights = np.array([[[[0.1, -2.0], [0.3, 4.0]]]])
    gains = {"gain_distance": uas - 0.6, "gain_random_weights": np.array([np.nan, np.nan, 0.4, 0.42, np.nan, np.nan])}
    dims = ("probe",)
    data = {
        **{f"uas{end}": (dims, uas + step) for end, step in (("", 0), ("_low", -0.03), ("_high", 0.03))},
        **{
            f"{name}{end}": (dims, values + step)
            for name, values in gains.items()
            for end, step in (("", 0), ("_low", -0.03), ("_high", 0.03))
        },
        "uas_by_seed": ((*dims, "seed"), np.stack([uas - 0.01, uas + 0.01], 1)),
        "epochs": (dims, np.array([np.nan, 5, 5, 5, 5, 5])),
        "weight": (("stack", "layer", "head", "direction"), weights),
        "test_words": (("sentence",), np.full(10, 12.0)),
    }
    coords = {"probe": PROBES, "stack": ["encoder"], "direction": ["dependent to head", "head to dependent"]}
    return xr.Dataset(data, coords, ATTRIBUTES | attributes)


def test_a_row_for_each_classifier() -> None:
    rows = classifier_rows(probed())
    assert [row[0] for row in rows] == PROBES
    assert rows[0] == (RIGHT_BRANCHING, "30.0 [27.0, 33.0]", "", "-30.0 [-33.0, -27.0]")
    assert rows[1] == (DISTANCE, "60.0 [57.0, 63.0]", "59.0 to 61.0", "")
    assert "120 words (without punctuation) of 10 test sentences" in heading(probed())


def test_what_is_shown_and_what_is_not() -> None:
    lines = classifier_sentences(probed())
    assert lines[0] == (
        "From attention, 50.0% of the syntactic heads are found: less than the 60.0% from distance and words "
        "(-10.0 [-13.0, -7.0] points)."
    )
    assert "more than the 10.0% from attention, random weights" in lines[1]
    assert "62.0% of the syntactic heads are found: not shown to differ from the 60.0%" in lines[2]
    assert "L0H1 <- (+4.0), L0H1 -> (+0.3), L0H0 -> (+0.1)" in lines[4]
    assert len(lines) == 5


def test_without_a_control() -> None:
    lines = classifier_sentences(probed().drop_vars("gain_random_weights"))
    assert not any(RANDOM in line for line in lines)


def test_what_the_numbers_depend_on() -> None:
    lines = classifier_sentences(
        probed(
            root="a learned constant",
            too_long=6,
            lost={"without a token of their own": 3},
            vectors_from="glove.txt",
            vectors_known=0.9,
            cut=1,
        ).assign_coords(stack=["decoder"])
    )
    said = " ".join(lines)
    for expected in (
        "glove.txt has a vector for 90.0% of the words.",
        "see only those before them",
        "ROOT has a learned constant",
        "6 sentences are left out: longer than 60 words.",
        "3 words are left out: without a token of their own.",
        "were cut",
    ):
        assert expected in said
