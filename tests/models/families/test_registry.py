"""Every family is found by its model type; an unknown one is an error that lists the known ones."""

from __future__ import annotations

import pytest
import transformers as tf

from headcount.errors import UnknownFamily
from headcount.models.families.plan import Family
from headcount.models.families.registry import FAMILIES, family_of, recorded_family
from tests.contracts.zoo import CASES


def test_every_registered_model_type_is_tested() -> None:
    """Each by itself: types that share a record do not share all of their code."""
    assert {case.make_config().model_type for case in CASES} == set(FAMILIES)


def test_an_unknown_type_lists_the_known_ones() -> None:
    with pytest.raises(UnknownFamily, match="albert.*roberta"):
        family_of("no-such-type")


def test_a_type_without_a_record_has_nothing_of_its_own() -> None:
    assert recorded_family(tf.FunnelConfig()) == Family(("funnel",), ())
    assert recorded_family(tf.MBartConfig()).starts_with_last
