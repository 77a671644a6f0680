"""Every pass inside a context is checked: what it is called with, and that it went through every layer named."""

from __future__ import annotations

import pytest
import torch

import headcount as hc
from headcount.errors import InvalidOption, NotReached
from tests.contracts.zoo import BY_NAME, inputs, tiny


def test_head_mask_is_refused_inside_a_context() -> None:
    model, batch = tiny("bert", head="AutoModelForSequenceClassification"), inputs(BY_NAME["bert"])
    mask = torch.ones(3, 4)
    with hc.ablated(model, "L0H0"):
        for called in (model, model.bert):
            with pytest.raises(InvalidOption, match=r"headcount\.gated"):
                called(**batch, head_mask=mask)
        model(**batch, head_mask=None)
    model(**batch, head_mask=mask)  # outside, transformers goes on ignoring it


def test_a_pass_that_leaves_a_layer_out_raises() -> None:
    model, batch = tiny("bart"), inputs(BY_NAME["bart"])
    encoded = model.get_encoder()(batch["input_ids"])
    with pytest.raises(NotReached, match=r"encoder\.L1"), hc.ablated(model, "encoder.L1H0"):
        model(encoder_outputs=encoded, decoder_input_ids=batch["decoder_input_ids"])
    with pytest.raises(NotReached, match=r"cross\.L1"), hc.ablated(model, "cross.L1H0"):
        model.get_encoder()(batch["input_ids"])


def test_every_pass_is_checked_not_the_first_alone() -> None:
    model, batch = tiny("bart"), inputs(BY_NAME["bart"])
    encoded = model.get_encoder()(batch["input_ids"])
    decoder = {"decoder_input_ids": batch["decoder_input_ids"]}
    with pytest.raises(NotReached, match=r"encoder\.L1"), hc.ablated(model, "encoder.L1H0"):
        model(**batch)
        model(encoder_outputs=encoded, **decoder)
    with hc.ablated(model, "encoder.L1H0"):
        inside = model.get_encoder()(batch["input_ids"])
        model(encoder_outputs=inside, **decoder)
