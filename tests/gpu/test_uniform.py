"""Uniform attention on every kernel of the device equals eager float32 code whose softmax was overwritten."""

from __future__ import annotations

import torch

import headcount as hc
from tests.contracts import naive
from tests.contracts.zoo import BY_NAME, run
from tests.gpu.device import DTYPE, EVERY, GPU, TOLERANCE, batch_for, largest_share, on_device, run_plain, using

pytestmark = GPU


@EVERY
def test_uniform_equals_overwritten_weights(name: str, kernel: str, dtype: torch.dtype, padding: str) -> None:
    case = BY_NAME[name]
    heads = [*case.spell("L0H1"), *case.spell("L1H1-2"), *case.spell("L2H0-2")]
    model, batch = on_device(name, kernel, dtype), batch_for(case, padding, dtype)
    plain = run_plain(model, batch, kernel)
    # The weights as the dtype rounds them, computed with in float32.
    reference = on_device(name, "eager", dtype).float()
    expected = naive.run_with_uniform_weights(reference, heads, batch_for(case, padding))
    with using(kernel), hc.ablated(model, heads, how="uniform"):
        without = run(model, batch)
    assert largest_share(without, expected) <= TOLERANCE[dtype]
    assert largest_share(plain, expected) > 2 * TOLERANCE[dtype], "the heads made no difference"


@DTYPE
def test_all_heads_of_a_layer(dtype: torch.dtype) -> None:
    """With grouped heads, each head gets the values of its own group."""
    case, heads = BY_NAME["llama"], ["L0", "L2"]
    batch = batch_for(case, "left")
    expected = naive.run_with_uniform_weights(on_device("llama", "eager", dtype).float(), heads, batch)
    model = on_device("llama", "sdpa", dtype)
    with hc.ablated(model, heads, how="uniform"):
        assert largest_share(run(model, batch), expected) <= TOLERANCE[dtype]
