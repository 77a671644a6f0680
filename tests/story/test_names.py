"""Heads, layers, models and intervals are spelled in one way everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.story.names import short_name, spell_head, spell_interval, spell_layer

DATASET = xr.Dataset(
    {"x": (HEAD_DIMS, np.zeros((2, 3, 4)))},
    coords={"stack": ["encoder", "cross"], "layer": [0, 1, 2], "head": [0, 1, 2, 3]},
)


def test_heads_and_layers() -> None:
    index = np.unravel_index(23, (2, 3, 4))
    assert spell_head(DATASET, index, stacked=True) == "cross.L2H3"
    assert spell_head(DATASET, index, stacked=False) == "L2H3"
    assert spell_layer(DATASET, index[:2], stacked=True) == "cross.L2"
    assert spell_layer(DATASET, index[:2], stacked=False) == "L2"


def test_numbers_are_those_of_the_coordinates() -> None:
    part = DATASET.isel(layer=[2], head=[1, 3])
    assert spell_head(part, (0, 0, 1), stacked=False) == "L2H3"


def test_intervals() -> None:
    assert spell_interval((0.12345, -1.0, 2.0), 2) == "0.12 [-1.00, 2.00]"
    assert spell_interval((12.6, 3.4, 20.5), 0) == "13 [3, 20]"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("/home/me/models/tuned/", "tuned"),
        ("google/bert", "google/bert"),
        ("bert-base-uncased", "bert-base-uncased"),
        ("./runs/seed-0", "seed-0"),
        ("runs/mrpc/seed-0", "seed-0"),
        (r"C:\models\tuned", "tuned"),
        ("/usr/lib/headcount/zoo/data/qnli", "bundled:qnli"),
        ("BertForSequenceClassification", "BertForSequenceClassification"),
        pytest.param("/", "/"),
    ],
)
def test_short_names(model: str, expected: str) -> None:
    assert short_name(model) == expected
