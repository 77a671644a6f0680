"""Sentences on frames say what the tests and the null allow, and what sweeps in the study say of the same heads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.story import frames as story
from headcount.story.frames import effect_sentences, filter_rows, frame_rows, frame_sentences
from headcount.story.probes import probe_sentences
from tests import planted
from tests.probing.framebank import annotation

DIMS = ("stack", "layer", "head", "direction")
WAYS = ["element to predicate", "predicate to element"]


def probed(random: bool = True, q: float = 0.01, **attributes: Any) -> xr.Dataset:
    """One layer of three heads: L0H1 attends from elements to predicates, 0.2 above unlinked words."""
    excess = np.zeros((1, 1, 3, 2))
    excess[0, 0, 1, 0], excess[0, 0, 2, 1] = 0.2, -0.1
    values = np.ones_like(excess)
    values[excess != 0] = q
    above = np.zeros(excess.shape, dtype=bool)
    above[0, 0, 1, 0] = True
    arrays: dict[str, Any] = {
        "weight": (DIMS, excess + 0.2),
        "compared_weight": (DIMS, excess + 0.15),
        "null_weight": (DIMS, np.full_like(excess, 0.15)),
        "excess": (DIMS, excess),
        "excess_q": (DIMS, values),
        "above": (DIMS, above),
        "above_threshold": ("direction", [0.3, np.nan]),
        "above_null": ("direction", [0, np.nan]),
        "above_p": ("direction", [0.0123, np.nan]),
        "best_head": ("relation", np.array(["L0H1"], dtype=object)),
        "best_direction": ("relation", np.array([WAYS[0]], dtype=object)),
        "best_accuracy": ("relation", [0.35]),
        "baseline_unlinked": ("relation", [0.15]),
    }
    for name in ("weight", "excess"):
        arrays |= {f"{name}_low": (DIMS, arrays[name][1] - 0.01), f"{name}_high": (DIMS, arrays[name][1] + 0.01)}
    arrays |= {f"gain{ending}": ("relation", [value]) for ending, value in (("", 0.2), ("_low", 0.1), ("_high", 0.3))}
    if random:
        arrays |= {
            "random_excess": (DIMS, excess / 10),
            "random_excess_q": (DIMS, values),
            "random_above_p": ("direction", [0.3, 1]),
        }
    coords = {"stack": ["encoder"], "layer": [0], "head": [0, 1, 2], "direction": WAYS, "relation": ["all"]}
    attrs = {
        "filter": {"annotation sets": 1200, "with at most 12 words": 9},
        "filtered_sentences": 8,
        "links": 9,
        "links_unknown": 0,
        "links_without_null": {WAYS[0]: 0, WAYS[1]: 2},
        "model": "some/model",
    }
    return xr.Dataset(arrays, {**coords, "example": np.arange(8)}, attrs | attributes)


def test_the_count_after_each_step() -> None:
    rows = filter_rows(probed())
    assert rows[:2] == [("annotation sets", "1,200"), ("with at most 12 words", "9")]
    assert rows[2:] == [("different links", "9"), ("sentences", "8")]
    assert filter_rows(probed(filtered_sentences=2000))[-1] == ("sentences (drawn from 2,000)", "8")


def test_a_row_for_each_head_above_the_percentile() -> None:
    assert frame_rows(probed()) == [("L0H1 ->", "0.400", "0.350", "0.150", "+0.200 [+0.190, +0.210]", "0.01")]


def test_only_what_the_tests_show() -> None:
    best, percentile, tests, random, left = frame_sentences(probed())
    assert best.startswith("L0H1, element to predicate, is furthest above unlinked words")
    assert best.endswith("on the other half its weight is 0.350 beside 0.150: +0.200 [+0.100, +0.300].")
    assert percentile.startswith(
        "Element to predicate: 1 of 3 heads are above the 99th percentile of all heads (0.300)"
    )
    assert "0 would be above that weight (p = 0.012; 0.3 with random weights)" in percentile
    assert "1 show more attention along links than between unlinked words and 1 less" in tests
    assert "With random weights 2 tests are significant, with differences of at most 0.0200" in random
    assert random.endswith("1 tests show a larger difference than any of these.")
    assert left.startswith("Predicate to element: 2 of 9 links have no unlinked words")
    assert frame_sentences(probed(q=0.2))[3].endswith("0 tests show a larger difference than any of these.")
    unsure = frame_sentences(probed(random=False, q=0.2))
    assert any(line.startswith("No head attends more or less along links") for line in unsure)
    assert not any("random" in line for line in unsure)
    assert probe_sentences("frames", probed())[1:] == frame_sentences(probed())


def test_what_was_lost_is_said() -> None:
    lines = frame_sentences(probed(links_unknown=3, cut=2))
    assert "3 links are left out: the tokenizer drops or merges their words." in lines
    assert "2 texts were longer than the model takes and were cut." in lines


def test_nothing_to_compare_with() -> None:
    alone = probed()
    alone["best_head"] = ("relation", np.array([""], dtype=object))
    assert frame_sentences(alone)[0].startswith("No link has unlinked words at the same distance")


def test_the_effects_of_these_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    dims = DIMS[:3]
    change = {"delta": -0.02, "low": -0.04, "high": -0.01, "q": 0.02}
    arrays = {name: (dims, np.full((1, 1, 3), value)) for name, value in change.items()}
    sweep = xr.Dataset(arrays, attrs={"metric": "accuracy"})
    monkeypatch.setattr(story, "_sweeps", lambda *_: {"sweep/head-zero": sweep})
    assert effect_sentences(probed(), "study") == [
        "Without L0H1 accuracy changes by -0.020 [-0.040, -0.010]: significant (q = 0.02, sweep/head-zero)."
    ]
    sweep["q"][:] = 0.6
    assert "not significant (q = 0.6" in effect_sentences(probed(), "study")[0]


def test_a_study_with_and_without_a_sweep_of_the_same_model(tmp_path: Path) -> None:
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path / "tokenizer")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0))
    rows = [annotation(["good", "the", word, "it", "is"], [("Agent", 0, 1)], (3, 4)) for word in ("a", "so", "up")]
    study = tmp_path / "study"
    found = hc.probe(model, tokenizer, pd.DataFrame(rows), kind="frames", control=False, out=study)
    [line] = effect_sentences(found, study)
    assert line.endswith(f"--task TASK --data FILE --out {study}")
    hc.sweep(model, tokenizer, planted.texts(20), task="sst2", out=study, how="zero")
    lines = effect_sentences(found, study)
    assert lines
    assert all(line.startswith("Without L") and "sweep/head-zero" in line for line in lines)
    other = found.assign_attrs(identity={**found.attrs["identity"], "model": "another"})
    assert effect_sentences(other, study)[0].startswith("Whether these heads matter")


def test_where_nothing_can_be_compared_no_number_is_told() -> None:
    nothing = probed(q=np.nan)
    for name in ("excess", "excess_low", "excess_high", "random_excess", "gain", "baseline_unlinked"):
        nothing[name] = nothing[name] * np.nan
    lines = frame_sentences(nothing)
    assert lines[0].startswith("No link has unlinked words at the same distance")
    assert not any("nan" in line for line in lines)
