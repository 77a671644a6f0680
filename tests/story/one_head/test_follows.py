"""Sentences on annotations: a planted head follows its relation, and a gain that is not shown is not claimed."""

from __future__ import annotations

import pytest
import xarray as xr

import headcount as hc
from headcount.core.heads import Head
from headcount.story.one_head.follows import probe_facts
from tests.measures.planted import planted_attention
from tests.probing import treebank

NAMES = ("L0H3", "encoder.L0H3")
FOLLOWS, OTHER = Head("encoder", 0, 3), Head("encoder", 0, 1)


@pytest.fixture(scope="module")
def probed() -> xr.Dataset:
    return hc.probe(*planted_attention(), treebank.sentences(120), relations="det,obj")


def test_the_planted_head_follows_det(probed: xr.Dataset) -> None:
    followed, best = probe_facts("dependencies", probed, FOLLOWS, NAMES)
    gain = float(probed["relation_gain"].sel(stack="encoder", layer=0, head=3))
    assert followed.sentence.startswith(f"Of all relations (dependencies) it follows det -> best: {gain:+.3f} [")
    assert "above the best fixed offset on held-out texts" in followed.sentence
    assert followed.numbers["value"] == gain
    assert best.sentence.startswith("It is the best head of 1 relation (selected on other texts than evaluated): det: ")


def test_nothing_is_claimed_without_evidence(probed: xr.Dataset) -> None:
    unsure = probed.assign(relation_gain_low=probed["relation_gain_low"] * 0 - 0.1)
    followed, *_ = probe_facts("dependencies", unsure, FOLLOWS, NAMES)
    assert followed.sentence.startswith("It is not shown to follow any relation (dependencies): of det ->, which it ")
    weak = probed.assign(relation_gain_low=probed["relation_gain_low"] * 0 + 0.05)
    assert "syntactic" not in probe_facts("dependencies", weak, FOLLOWS, NAMES)[0].sentence
    hidden = probed.assign(gain_low=probed["gain_low"] * 0 - 0.1)
    assert all(", not shown to beat it" in fact.sentence for fact in probe_facts("x", hidden, FOLLOWS, NAMES)[1:])
    assert "not shown to beat" not in probe_facts("x", probed, FOLLOWS, NAMES)[1].sentence
    assert not any("best head of 2" in fact.sentence for fact in probe_facts("x", probed, OTHER, ("L0H1", "")))
    assert probe_facts("frames", xr.Dataset(), OTHER, ("L0H1", "encoder.L0H1")) == []
