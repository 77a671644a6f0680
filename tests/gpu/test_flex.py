"""Gates, zero and uniform attention under flex attention, which transformers compiles."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf

import headcount as hc
from tests.contracts import naive
from tests.contracts.zoo import Case, inputs, run
from tests.gpu.device import DEVICE, DTYPE, EPSILON, GPU, TOLERANCE, largest_share, to_device

pytestmark = GPU

SIZES = {
    "vocab_size": 60,
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
"""Heads of size 16: flex attention takes none that are smaller."""
CASES = {
    "bert": Case("bert", "BertConfig", SIZES),
    "llama": Case("llama", "LlamaConfig", SIZES | {"num_key_value_heads": 2}, kind="decoder"),
}
FAMILY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def build(case: Case, dtype: torch.dtype, kernel: str = "flex_attention", device: Any = DEVICE) -> Any:
    torch.manual_seed(7)
    model = tf.AutoModel.from_config(case.make_config(), attn_implementation=kernel).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.25)
    return model.to(device, dtype)


def run_or_skip(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The untouched model's output; flex attention needs a compiler for the device."""
    try:
        return run(model, batch)
    except (RuntimeError, ImportError, NotImplementedError) as error:
        pytest.skip(f"flex attention does not run here: {str(error).splitlines()[0][:200]}")


@DTYPE
@FAMILY
def test_gates_of_one_and_zero(case: Case, dtype: torch.dtype) -> None:
    model, batch = build(case, dtype), to_device(inputs(case, "right"))
    plain = run_or_skip(model, batch)
    with hc.gated(model, torch.ones(3, 4)):
        assert torch.equal(run(model, batch), plain)
    expected = run(naive.with_zero_columns(model, ["L1H2"]), batch)
    with hc.ablated(model, "L1H2", how="zero"):
        without = run(model, batch)
    assert largest_share(without, expected) <= EPSILON[dtype]
    assert largest_share(plain, expected) > 2 * EPSILON[dtype], "the head made no difference"
    assert torch.equal(run(model, batch), plain)


@pytest.mark.parametrize("heads", [["L1H2", "L2H0-1"], ["L1"], ["L0", "L1", "L2"]], ids=" ".join)
@DTYPE
@FAMILY
def test_uniform(case: Case, dtype: torch.dtype, heads: list[str]) -> None:
    batch = to_device(inputs(case, "right"))
    model = build(case, dtype)
    plain = run_or_skip(model, batch)
    # The weights as the dtype rounds them, computed with in float32.
    expected = naive.run_with_uniform_weights(build(case, dtype, "eager").float(), heads, batch)
    with hc.ablated(model, heads, how="uniform"):
        without = run(model, batch)
    assert largest_share(without, expected) <= TOLERANCE[dtype]
    assert largest_share(plain, expected) > 3 * largest_share(without, expected), "the heads made no difference"
