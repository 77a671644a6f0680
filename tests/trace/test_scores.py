"""The formula of attention where few families use it: sinks, masks of half precision, what is not understood."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.trace.call import AttentionCall
from headcount.trace.scores import entropy_without_map, exponentials, is_linear
from headcount.trace.view import AttentionView
from tests.contracts.zoo import tiny
from tests.trace.test_view import by_hand, close, entropy_of

HEADS, GROUPS, KEYS, SIZE = 4, 2, 6, 8


def with_sinks(sinks: Tensor, mask: Tensor | None = None) -> tuple[AttentionCall, Tensor]:
    """A call with sinks [head], and its map by GPT-OSS's own code."""
    generator = torch.Generator().manual_seed(5)
    query, key, value = (
        torch.randn(2, heads, KEYS, SIZE, generator=generator, dtype=torch.float64) for heads in (HEADS, GROUPS, GROUPS)
    )
    module = SimpleNamespace(num_key_value_groups=HEADS // GROUPS, sinks=sinks, training=False)
    expected = eager_attention_forward(module, query, key, value, mask, scaling=0.7)[1]  # type: ignore[arg-type]
    options = {"scaling": 0.7, "s_aux": sinks}
    layer = read_anatomy(tiny("llama")).attention("decoder", 0)
    assert len(layer.heads) == HEADS
    return AttentionCall(layer, "eager", value, mask, KEYS, query, key, None, options), expected


@pytest.mark.parametrize("size", [1.0, 30.0, 3000.0])
@pytest.mark.parametrize("masked", [False, True])
def test_sinks(size: float, masked: bool) -> None:
    """From sinks that nobody looks at to sinks that take all attention."""
    sinks = size * torch.tensor([-1.0, 0.0, 0.5, 1.0], dtype=torch.float64)
    low = torch.finfo(torch.float64).min
    mask = torch.zeros(2, 1, KEYS, KEYS, dtype=torch.float64).masked_fill_(
        ~torch.ones(KEYS, KEYS, dtype=torch.bool).tril(), low
    )
    call, expected = with_sinks(sinks, mask if masked else None)
    classes = torch.eye(KEYS, 3, dtype=torch.float64).expand(2, -1, -1)
    view = AttentionView(call, classes)
    close(view.map, expected)
    close(view.mass, expected[..., :3])
    close(view.largest, expected.amax(-1))
    close(view.row(2), expected[:, :, 2])
    assert not is_linear(call)
    assert expected.sum(-1).max() < 1 or size > 1
    # A sink is one more thing to attend to.
    close(view.entropy(), entropy_of(torch.cat([expected, 1 - expected.sum(-1, keepdim=True)], -1).clamp(min=0)))
    some = view.of_heads([3, 1])
    assert some is not None
    close(some.map, expected[:, [3, 1]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_row_that_a_mask_of_any_precision_closes_is_zero(dtype: torch.dtype) -> None:
    allowed = torch.ones(2, 1, 6, 6, dtype=torch.bool)
    allowed[1, 0, 4:] = False
    mask = torch.zeros(allowed.shape, dtype=dtype).masked_fill_(~allowed, torch.finfo(dtype).min)
    call = by_hand(mask, "eager")
    call.query, call.key = (tensor.to(dtype) for tensor in (call.query, call.key))  # type: ignore[union-attr]
    weights = exponentials(call).weights
    assert not weights[1, :, 4:].any()
    assert (weights[1, :, :4].amax(-1) == 1).all()
    close(AttentionView(call).map.sum(-1), allowed[:, :, :, 0].expand(2, 4, 6).double(), 1e-6)


@pytest.mark.parametrize("name", ["sinks", "block_indices"])
def test_what_is_not_understood_raises(name: str) -> None:
    with pytest.raises(UnknownFamily, match=name):
        exponentials(by_hand(**{name: torch.zeros(4)}))
    silent = by_hand()
    silent.query = None
    with pytest.raises(UnknownFamily, match="not handed out"):
        exponentials(silent)


def test_no_kernel_gives_the_entropy_of_a_half_precision_call() -> None:
    call = by_hand()
    assert entropy_without_map(call) is not None
    call.query, call.key = (tensor.half() for tensor in (call.query, call.key))  # type: ignore[union-attr]
    assert entropy_without_map(call) is None
