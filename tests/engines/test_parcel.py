"""Does work arrive elsewhere as it was sent: its weights once, tied as they were, and checked?"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from headcount.engines.parcel import SMALL, Shelf, pack
from headcount.errors import ClusterProblem

WIDE = SMALL // 4
"""Elements of a float32 tensor that is just not small."""


def there_and_back(work: Any, shelf: Shelf | None = None) -> Any:
    parcel = pack(work)
    return (shelf or Shelf()).unpack(parcel.code, parcel.weights, parcel.weights)


@given(st.sampled_from(["float32", "bfloat16", "int64", "bool"]), st.integers(1, 3), st.booleans())
@settings(max_examples=20, deadline=None)
def test_tensors_arrive(dtype: str, rows: int, turned: bool) -> None:
    """Large and small, of any dtype, whole or a part of another one, in any order of their elements."""
    whole = torch.arange(rows * WIDE * 4).reshape(rows * 4, WIDE).to(getattr(torch, dtype))
    part = whole[1::2].T if turned else whole[1::2]
    arrived, alike = there_and_back((part, whole))
    assert torch.equal(arrived, part)
    assert arrived.stride() == part.stride()
    assert torch.equal(alike, whole)
    assert arrived.untyped_storage().data_ptr() == alike.untyped_storage().data_ptr(), "one is a part of the other"


def model() -> Any:
    torch.manual_seed(0)
    config = tf.BertConfig(
        vocab_size=600, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=512
    )
    return tf.BertForMaskedLM(config).eval()


def test_a_model_arrives_with_its_mode_and_its_ties() -> None:
    one = model()
    one.bert.encoder.layer[0].attention.self.query.weight.requires_grad_(False)
    parcel = pack(lambda ids: one(ids).logits)
    ids = torch.arange(12).reshape(2, 6)
    work = Shelf().unpack(parcel.code, parcel.weights, parcel.weights)
    assert torch.equal(work(ids), one(ids).logits)
    other: Any = there_and_back(one)
    assert not other.training
    assert other.get_output_embeddings().weight is other.get_input_embeddings().weight
    needs = [parameter.requires_grad for parameter in other.parameters()]
    assert needs == [parameter.requires_grad for parameter in one.parameters()]
    large = sum(parameter.nbytes >= SMALL for parameter in one.parameters())
    assert len(parcel.weights) == large > 1, "tied weights travel once"
    assert len(parcel.code) < sum(array.nbytes for array in parcel.weights.values())


def test_weights_that_are_there_are_not_needed_again() -> None:
    one, shelf = model(), Shelf()
    first = there_and_back(one, shelf)
    parcel = pack(lambda ids: one(ids).logits)
    work = shelf.unpack(parcel.code, {}, parcel.weights)
    assert torch.equal(work(torch.arange(6)[None]), first(torch.arange(6)[None]).logits)


def test_weights_that_are_not_needed_any_more_leave_the_shelf() -> None:
    shelf = Shelf()
    there_and_back(torch.ones(WIDE), shelf)
    there_and_back(torch.zeros(WIDE), shelf)
    assert len(shelf.there) == 1


def test_what_belongs_to_threads_begins_anew() -> None:
    own = threading.local()
    own.value = 3
    arrived, lock = there_and_back((own, threading.Lock()))
    assert not hasattr(arrived, "value")
    assert lock.acquire(blocking=False)


def test_other_weights_than_those_that_were_sent_are_refused() -> None:
    parcel = pack(torch.ones(WIDE))
    changed = {digest: np.zeros_like(array) for digest, array in parcel.weights.items()}
    with pytest.raises(ClusterProblem, match="the weights were damaged on their way to a worker"):
        Shelf().unpack(parcel.code, changed, parcel.weights)


def test_writing_to_what_arrived_leaves_what_was_sent() -> None:
    linear = nn.Linear(WIDE, 1)
    parcel = pack(linear)
    arrived = Shelf().unpack(parcel.code, parcel.weights, parcel.weights)
    with torch.no_grad():
        arrived.weight.zero_()
    assert linear.weight.any()
    assert any(array.any() for array in parcel.weights.values())
