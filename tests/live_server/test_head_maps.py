"""The map of one head is that of `hc.observe`, of the model as it is inside the context."""

from __future__ import annotations

import base64

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.attention_maps.maps import unpack
from headcount.core.heads import Head
from headcount.errors import NotFinite
from headcount.live_server.head_maps import packed, watching
from tests.closeness import assert_same
from tests.contracts import zoo

IDS = {"input_ids": torch.tensor([[3, 5, 7, 2, 9]])}


@pytest.mark.parametrize("how", [None, "zero", "uniform"])
@torch.no_grad()
def test_it_is_the_observed_map(how: str | None) -> None:
    model = zoo.tiny("bert").double()
    plain = hc.observe(model, IDS).maps["encoder"]
    if how is None:
        with watching(model, Head("encoder", 2, 1)) as seen:
            model(**IDS)
        assert_same(seen[0], plain[2, 1, 0])
        return
    with hc.ablated(model, "L0H0, L2H1", how=how), watching(model, Head("encoder", 2, 1)) as seen:
        model(**IDS)
    with hc.ablated(model, "L0H0, L2H1", how=how):
        assert_same(seen[0], hc.observe(model, IDS).maps["encoder"][2, 1, 0])


def test_the_bytes_are_rows_of_queries() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.5, 0.25]])
    found = packed(weights, "L0H0")
    values = np.frombuffer(base64.b64decode(found["bytes"]), dtype=np.uint8).reshape(found["queries"], found["keys"])
    assert np.abs(unpack(values) - weights.numpy()).max() < 0.005
    with pytest.raises(NotFinite, match="L0H0"):
        packed(weights * float("nan"), "L0H0")


def test_no_head_no_map() -> None:
    with watching(zoo.tiny("bert"), None) as seen:
        pass
    assert seen == []
