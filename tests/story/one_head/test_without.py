"""Sentences on what happens without a head say what the sweep found of it, and no more than its q-value allows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headcount as hc
from headcount.core.heads import Head
from headcount.story.one_head.without import position_facts, sweep_facts
from tests import planted
from tests.ablation.test_shares import PAIRS

NEEDED, IDLE = Head("encoder", 0, 0), Head("encoder", 1, 1)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return planted.classifier(), planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def swept(both: tuple[Any, Any]) -> xr.Dataset:
    return hc.sweep(*both, planted.texts(), task="sst2", how="zero")


def deciding(swept: xr.Dataset) -> Head:
    """The head that the planted classifier needs."""
    place = np.unravel_index(int(np.nanargmin(swept["delta"].values)), swept["delta"].shape)
    return Head("encoder", int(place[1]), int(place[2]))


def test_the_planted_head_is_needed_and_the_others_are_not(swept: xr.Dataset) -> None:
    for head in (Head("encoder", layer, head) for layer in range(2) for head in range(2)):
        fact, loss = sweep_facts("head-zero", swept, head)
        at = {"stack": 0, "layer": head.layer, "head": head.head}
        assert fact.numbers["value"] == float(swept["delta"].isel(at))
        assert f"{float(swept['delta'].isel(at)):+.3f}" in fact.sentence
        assert ("significantly worse without it" in fact.sentence) == (head == deciding(swept))
        assert ("not significant" in fact.sentence) == (float(swept["q"].isel(at)) >= 0.05)
        assert "(its output is 0)" in fact.sentence
        assert loss.sentence.startswith("The mean loss changes by ")


def test_the_direction_of_a_metric_counts(swept: xr.Dataset) -> None:
    head, lower = deciding(swept), swept.assign_attrs(higher_is_better=False)
    assert "significantly better without it" in sweep_facts("head-zero", lower, head)[0].sentence
    unsure = swept.assign(q=swept["q"] * 0 + 0.05)
    assert "not significant (q = 0.05, 4 heads tested)" in sweep_facts("head-zero", unsure, head)[0].sentence


def test_layers_and_the_only_head(both: tuple[Any, Any]) -> None:
    layer = hc.sweep(*both, planted.texts(40), task="sst2", by="layer", how="zero")
    alone = hc.sweep(*both, planted.texts(40), task="sst2", by="all-but-one", how="zero")
    (fact,) = sweep_facts("layer-zero", layer, IDLE)
    assert fact.sentence.startswith("Without all heads of its layer (replacement: zero), accuracy changes by ")
    assert "2 layers tested" in fact.sentence
    fact = sweep_facts("all-but-one-zero", alone, IDLE)[0]
    assert fact.sentence.startswith("With this head alone in its layer")
    assert "without it" not in fact.sentence
    sets = swept_sets(both)
    assert sweep_facts("sets-zero", sets, IDLE) == []


def swept_sets(both: tuple[Any, Any]) -> xr.Dataset:
    return hc.sweep(*both, planted.texts(10), task="sst2", by=["L0H0, L1H1"], how="zero")


def test_a_race_says_what_it_decided(both: tuple[Any, Any]) -> None:
    raced = hc.sweep(*both, planted.texts(), task="sst2", how="zero", stop_when=0.2)
    facts = [sweep_facts("head-zero", raced, Head("encoder", layer, head))[0] for layer in (0, 1) for head in (0, 1)]
    said = {
        "smaller": "lowers accuracy by more than 0.2",
        "larger": "raises accuracy by more than 0.2",
        "within": "changes accuracy by no more than 0.2",
    }
    names = raced["decision"].attrs["names"]
    assert {"smaller", "within"} <= {names[int(code)] for code in raced["decision"].values.ravel()}
    for fact, code in zip(facts, raced["decision"].values.ravel(), strict=True):
        assert said.get(names[int(code)], "is undecided") in fact.sentence
    assert all("(a race, after " in fact.sentence for fact in facts)


def test_a_head_that_a_screening_left_out(both: tuple[Any, Any]) -> None:
    ranked = hc.screen(*both, planted.texts(40), task="sst2", top=1, control=0)
    screened = hc.sweep(*both, planted.texts(40), task="sst2", by=ranked, how="zero")
    facts = [sweep_facts("head-zero", screened, Head("encoder", layer, head)) for layer in (0, 1) for head in (0, 1)]
    said = [row[0].sentence for row in facts]
    assert said.count("It was not run: the screening ranked other heads higher.") == 3
    assert sum(" of 4 heads tested" in sentence for sentence in said) == 1


def test_patches(both: tuple[Any, Any]) -> None:
    patched = hc.sweep(*both, PAIRS, task="sst2", how="patch")
    shares = patched["share"].values
    carrier = np.unravel_index(int(np.nanargmax(shares)), shares.shape)
    (fact,) = sweep_facts("head-patch", patched, Head("encoder", int(carrier[1]), int(carrier[2])))
    assert fact.sentence.startswith(
        "On the corrupted input with its output from the clean one, log_probability changes"
    )
    assert "(1.00 [1.00, 1.00] on a scale from 0, corrupted, to 1, clean): significant (q" in fact.sentence
    other = Head("encoder", 1 - int(carrier[1]), int(carrier[2]))
    assert ": not significant (q" in sweep_facts("head-patch", patched, other)[0].sentence
    spans = json.dumps({"start": [0, 1], "first": [1, 2], "rest": [2, 4]})
    single = hc.sweep(*both, PAIRS.assign(spans=spans), task="sst2", how="patch", by="position")
    (fact,) = position_facts("position-patch", single, other)
    assert "significant nowhere (q < 0.05" in fact.sentence
    (fact,) = position_facts("position-patch", single, Head("encoder", int(carrier[1]), int(carrier[2])))
    q = single["q"].isel(stack=0, layer=int(carrier[1]), head=int(carrier[2])).values
    assert len(fact.numbers) == (q < 0.05).sum() > 0
    assert position_facts("head-patch", patched, other) == []
