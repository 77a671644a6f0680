"""Heads against frames: a planted head is found and significant, others are not; equal to a loop over words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.errors import DataProblem, InvalidOption
from headcount.measures import passes
from tests.measures.planted import planted_attention
from tests.measures.tiny import causal, masked, translator
from tests.probing.framebank import annotation, frames, naive_weights

TABLE = frames()
WAY = "element to predicate"


@pytest.fixture(scope="module")
def planted() -> Any:
    return planted_attention()


@pytest.fixture(scope="module")
def probed(planted: Any) -> xr.Dataset:
    return hc.probe(*planted, TABLE, kind="frames")


def test_a_planted_head_is_found_and_no_other(probed: xr.Dataset) -> None:
    """L0H3 attends to the noun, which is the predicate; no other head attends to links more than to other words."""
    planted = {"stack": "encoder", "layer": 0, "head": 3, "direction": WAY}
    assert float(probed["weight"].sel(planted)) == pytest.approx(1, abs=0.01)
    assert float(probed["null_weight"].sel(planted)) < 0.01
    assert float(probed["excess_q"].sel(planted)) < 0.05
    more = (probed["excess_q"] < 0.05) & (probed["excess"] > 0)
    assert int(more.sum()) == 1
    best = probed.sel(relation="all")
    assert (str(best["best_head"].item()), str(best["best_direction"].item())) == ("L0H3", WAY)
    assert float(best["gain_low"]) > 0.9
    assert float(best["baseline_random_weights"]) < 0.3
    assert float(probed["frame_excess"].sel(stack="encoder", layer=0, head=3)) > 0.9
    assert float(probed["random_excess"].max()) < 0.1
    assert probed["random_above_p"].notnull().all()


def test_elements_by_name(probed: xr.Dataset) -> None:
    assert probed["relation"].values.tolist() == ["all", "Agent", "Theme"]
    assert probed["best_head"].values.tolist() == ["L0H3"] * 3
    assert int(probed["held_out_cases"][0]) == int(probed["held_out_cases"][1:].sum()) <= len(TABLE) // 2


def test_the_head_is_above_the_percentile_and_not_by_chance(probed: xr.Dataset) -> None:
    towards = probed.sel(direction=WAY)
    assert bool(towards["above"].sel(stack="encoder", layer=0, head=3))
    assert int(towards["above"].sum()) == 1, "of 16 heads one is above the 99th percentile"
    assert float(towards["above_null"]) == 0
    assert float(towards["above_p"]) < 0.01


def test_every_interval_holds_its_value(probed: xr.Dataset) -> None:
    for name in ("weight", "null_weight", "excess", "best_accuracy", "baseline_unlinked", "gain", "frame_excess"):
        value, low, high = (probed[f"{name}{ending}"].values for ending in ("", "_low", "_high"))
        assert np.isfinite(value).all()
        assert ((low <= value + 1e-6) & (value - 1e-6 <= high)).all(), name


def test_what_was_filtered_is_kept(probed: xr.Dataset) -> None:
    assert list(probed.attrs["filter"].values()) == [len(TABLE)] * 5
    assert probed.attrs["links"] == len(TABLE)
    assert set(probed.attrs["links_without_null"]) == {WAY, "predicate to element"}


ROWS = [
    (["the", "dogs", "saw", "it", "near", "the", "old", "cats", "."], [("Seer", 0, 2), ("Seen", 6, 8)], (3, 4)),
    (["she", "never", "saw", "birds", "with", "red", "fish"], [("Seer", 0, 1)], (3, 5)),
    (["it", "was", "not", "a", "cats", "dogs", "book"], [("Theme", 0, 1), ("Time", 5, 6)], (4, 5)),
]


def test_equal_to_a_loop_over_words() -> None:
    model, tokenizer = masked()
    table = pd.DataFrame([annotation(*row) for row in ROWS])
    found = hc.probe(model.double(), tokenizer, table, kind="frames", control=False)
    compared = 0
    for number, (words, elements, (start, end)) in enumerate(ROWS):
        target = list(range(start, end))
        linked = {frozenset((word, t)) for _, first, last in elements for word in range(first, last) for t in target}
        distant = [e for e in elements if max(e[1] - target[-1], target[0] - e[2] + 1) > 2]
        for link, (_, first, last) in enumerate(distant):
            expected = naive_weights(model, tokenizer, words, list(range(first, last)), target, linked)
            for at, name in enumerate(("values_weight", "values_null")):
                seen = found[name].sel(stack="encoder", example=number, link=link).values
                np.testing.assert_allclose(seen, expected[..., at], rtol=1e-5)
                compared += int(np.isfinite(seen).sum())
    assert compared == 5 * 16, "three links, of which two can be compared, by 8 heads and 2 directions"


def test_batches_and_units_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = masked()
    expected = hc.probe(model.double(), tokenizer, TABLE[:30], kind="frames")
    monkeypatch.setattr(passes, "UNIT", 7)
    found = hc.probe(model, tokenizer, TABLE[:30], kind="frames", compute=hc.Compute(batch_tokens=30))
    xr.testing.assert_allclose(found, expected)


def test_a_causal_model_is_asked_for_what_it_can_see() -> None:
    found = hc.probe(*causal(), TABLE[:40], kind="frames", control=False)
    seen = np.isfinite(found["values_weight"].isel(link=0, layer=0, head=0).sel(stack="decoder"))
    after = np.array([text.index("she") > text.index("dog") for text in TABLE["text"][:40]])
    np.testing.assert_array_equal(seen.sel(direction=WAY).values, after)
    np.testing.assert_array_equal(seen.sel(direction="predicate to element").values, ~after)
    assert float(found["values_weight"].min()) > 0
    assert found["excess_q"].notnull().all()


def test_the_encoder_of_a_translator() -> None:
    found = hc.probe(*translator(), TABLE[:20], kind="frames", control=False)
    assert found["weight"].sel(stack="encoder").notnull().all()
    assert found["weight"].sel(stack=["decoder", "cross"]).isnull().all()
    assert not found["above"].sel(stack=["decoder", "cross"]).any()


def test_arcs_in_a_study(planted: Any, tmp_path: Path) -> None:
    hc.probe(*planted, TABLE[:40], kind="frames", control=False, out=tmp_path / "study")
    arcs = hc.open_study(tmp_path / "study")["arcs/frames"]
    assert str(arcs["head"].values[0]) == "L0H3"
    for words, drawn in zip(arcs["words"].values[0], arcs["arcs"].values[0], strict=True):
        [[word, predicted, true]] = json.loads(drawn)
        assert json.loads(words)[word] == "she"
        assert json.loads(words)[true] == "dog"
        assert predicted == true


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"elements": "some"}, "got elements='some'; expected one of core, any, strict"),
        ({"relations": "Agent"}, "it belongs to kind=dependencies, not frames"),
        ({"kind": "dependencies", "elements": "any"}, "it belongs to kind=frames, not dependencies"),
    ],
)
def test_what_is_refused(planted: Any, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        hc.probe(*planted, TABLE[:10], **{"kind": "frames"} | options)


def test_one_sentence_has_no_halves(planted: Any) -> None:
    with pytest.raises(DataProblem, match="at least two"):
        hc.probe(*planted, TABLE[:1], kind="frames")
