"""The record of a model: that of its type first, then one that was proved, then the one of its cut."""

from __future__ import annotations

import copy
import gc

import pytest
import transformers as tf

import headcount as hc
from headcount.errors import UnknownFamily
from headcount.models.families import lookup
from headcount.models.families.lookup import family_of_model, forget_proved, is_recorded, remember_proved
from headcount.models.families.plan import Family
from headcount.models.families.registry import FAMILIES
from tests.contracts.unknown import make
from tests.contracts.zoo import tiny


def test_the_record_of_a_type_comes_first() -> None:
    model = tiny("bert")
    remember_proved(model, Family(("bert",), ()))
    assert family_of_model(model) is FAMILIES["bert"]
    assert is_recorded(model.config)


def test_a_proved_record_belongs_to_its_model() -> None:
    model, other = make("starcoder2"), make("starcoder2")
    family = Family(("starcoder2",), FAMILIES["llama"].stacks)
    remember_proved(model, family)
    assert family_of_model(model) is family
    assert not is_recorded(model.config)
    with pytest.raises(UnknownFamily, match="type 'starcoder2' are not understood"):
        family_of_model(other)
    forget_proved(model)
    with pytest.raises(UnknownFamily):
        family_of_model(model)


def test_a_model_is_not_kept_alive() -> None:
    model = make("starcoder2")
    before = len(lookup._proved)
    remember_proved(model, Family(("starcoder2",), ()))
    assert len(lookup._proved) == before + 1
    del model
    gc.collect()
    assert len(lookup._proved) == before


def test_the_record_of_a_cut() -> None:
    """A copy of a cut model, which nobody has proved anything of, is read by what its config says."""
    model = make("starcoder2")
    hc.prune(model, "L0H1")
    copied = copy.deepcopy(model)
    assert isinstance(copied, tf.Starcoder2Model)
    assert copied not in lookup._proved
    assert is_recorded(copied.config)
    assert [(plan.query, plan.size) for plan in family_of_model(copied).stacks] == [("q_proj", "head_dim")]
