"""Sentences on heads and annotations of any kind: what the schemas call it, and no more than the intervals show."""

from __future__ import annotations

import xarray as xr

from headcount.story.probes import gain_sentences, has_relations, probe_sentences
from tests.reporting.probed import coreference


def test_a_kind_that_is_not_known() -> None:
    heading, found = probe_sentences("coreference", coreference())
    assert heading == "m, how often a mention attends to an antecedent (coreference):"
    assert found == (
        "Best head above the nearest mention: shown for 1 of 3 relations (95 % interval above 0, each relation by "
        "itself). Largest gain: L1H0, pronoun: +0.400 [+0.320, +0.480]."
    )


def test_all_relations_together_are_not_counted_as_one() -> None:
    (only,) = gain_sentences(coreference().sel(relation=["all"]))
    assert only == "Best head above the nearest mention: L0H1, all: +0.100 [+0.020, +0.180]."


def test_relations_without_a_number_are_not_counted() -> None:
    probed = coreference()
    probed["gain"] = probed["gain"].where(probed["relation"] == "proper")
    assert "shown for 0 of 1 relations" in gain_sentences(probed)[0]
    probed["gain"] = probed["gain"].where(probed["relation"] == "none of them")
    assert gain_sentences(probed) == [
        "Best head above the nearest mention: no relation has cases on both halves of the texts."
    ]


def test_other_results_have_no_sentence() -> None:
    assert not has_relations(xr.Dataset())
    assert probe_sentences("weights", coreference()[["relation_gain"]]) == []
