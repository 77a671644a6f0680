"""Sentences on paths from head to head say what their numbers allow."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

import headcount as hc
from headcount.story.paths import COLUMNS, path_rows, path_sentences
from tests import planted
from tests.choosing import planted_pair


def test_paths(tmp_path: Path) -> None:
    model, tokenizer = planted_pair.classifier(), planted.tokenizer(tmp_path)
    walked = hc.paths(model, tokenizer, planted_pair.texts(40), "L0, L1", task="sst2", metric="loss")
    lines = path_sentences(walked)
    assert lines[0].startswith("No path has a significant effect on loss (q < 0.05, 16 paths tested on 40 examples)")
    assert all(len(row) == len(COLUMNS) for row in path_rows(walked))
    clear = walked.copy()
    clear["q"] = walked["q"] * 0
    clear["delta"] = xr.where(walked["delta"].notnull(), 0.5, walked["delta"])
    assert path_sentences(clear)[0].startswith("16 paths have a significant effect")
    assert "changes by +0.500" in path_sentences(clear)[1]
