"""The model without some heads is the ablated model, for several selections at once, and nothing stays behind."""

from __future__ import annotations

import torch

import headcount as hc
from headcount.live_server.asked import read_asked
from headcount.live_server.interventions import needs_means, without
from tests.closeness import assert_same
from tests.contracts import zoo
from tests.measures.tiny import assert_untouched, first_output

IDS = {"input_ids": torch.tensor([[3, 5, 7, 2, 9]])}


@torch.no_grad()
def test_selections_together_are_contexts_in_one_another() -> None:
    model = zoo.tiny("bert").double()
    before, anatomy = first_output(model, IDS), hc.read_anatomy(model)
    means = hc.mean_outputs(model, {"input_ids": torch.tensor([[4, 8, 6]])})
    off = read_asked(
        {
            "texts": [""],
            "off": [
                {"heads": "L0H1, L2", "how": "uniform"},
                {"heads": "L1H0", "how": "mean"},
                {"heads": "L1H2", "strength": 0.0},
            ],
        },
        anatomy.layout,
    ).off
    assert needs_means(off)
    with without(model, anatomy, off, means):
        found = first_output(model, IDS)
    with hc.ablated(model, "L0H1, L2", how="uniform"), hc.ablated(model, "L1H0", how="mean", reference=means):
        assert_same(found, first_output(model, IDS))
    assert not torch.equal(found, before)
    assert_untouched(model, IDS, before)


@torch.no_grad()
def test_stacks_that_a_pass_does_not_go_through_are_left_out() -> None:
    model = zoo.tiny("bart").double()
    anatomy = hc.read_anatomy(model)
    off = read_asked({"texts": [""], "off": [{"heads": "encoder.L0, cross.L1H0"}]}, anatomy.layout).off
    with without(model, anatomy, off, None, stacks=("encoder",)):
        model.get_encoder()(**IDS)
