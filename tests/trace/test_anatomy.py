"""A type with a record is read by it, one without is proved once for each model and kernel."""

from __future__ import annotations

import copy

import pytest
import torch

import headcount as hc
from headcount.errors import UnknownFamily
from headcount.models import anatomy as known
from headcount.trace.anatomy import proof_of, read_anatomy
from tests.contracts.zoo import tiny
from tests.trace import spoiled


def test_a_record_needs_no_proof() -> None:
    model = tiny("bert")
    assert proof_of(model) is None
    assert read_anatomy(model).layout == known.read_anatomy(model).layout


def test_a_proof_is_made_once_for_a_model_and_its_kernel() -> None:
    model = spoiled.decoder()
    with pytest.raises(UnknownFamily, match="are not understood"):
        known.read_anatomy(model)
    assert read_anatomy(model).layout.stacks == {"decoder": (tuple(range(4)),) * 2}
    proof = proof_of(model)
    assert proof is not None
    assert proof_of(model) is proof
    assert proof_of(torch.compile(model, backend="eager")) is proof
    model.set_attn_implementation("eager")
    assert proof_of(model) is not proof
    with pytest.raises(UnknownFamily, match="are not understood"):
        known.read_anatomy(copy.deepcopy(model))


def test_what_is_refused_is_not_remembered() -> None:
    model = spoiled.decoder((spoiled.Beside, spoiled.Plain))
    for _ in range(2):
        with pytest.raises(UnknownFamily, match="zero: something beside"), hc.ablated(model, "L0H1"):
            pass
    with pytest.raises(UnknownFamily, match="are not understood"):
        known.read_anatomy(model)


def test_no_model_of_transformers() -> None:
    with pytest.raises(UnknownFamily, match="got Linear"):
        read_anatomy(torch.nn.Linear(2, 2))  # type: ignore[arg-type]
