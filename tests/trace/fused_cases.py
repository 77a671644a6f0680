"""Calls that the kernels know, and all that can be asked of one, in half precision and in float64 by blocks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from headcount.trace.block_pass import BlockPass
from headcount.trace.call import AttentionCall
from headcount.trace.fused_pass import FusedPass
from headcount.trace.view import AttentionView

SHAPES = [
    # examples, heads, groups, queries, keys, head size, causal
    (2, 4, 2, 150, 150, 64, True),
    (1, 2, 1, 70, 133, 48, False),
    (1, 3, 2, 40, 100, 128, True),
    (1, 2, 2, 200, 90, 16, True),
    (1, 1, 1, 3, 5, 8, False),
]
TOLERANCE = {"mass": 6e-4, "picture": 6e-4}
"""As a share of the largest value: sums over shared columns are products in float16, all others in float32."""
EXACT = 1e-4


def make_calls(shape: tuple[Any, ...], dtype: torch.dtype, device: Any) -> tuple[AttentionCall, AttentionCall]:
    """A call in half precision and the same one in float64."""
    batch, heads, groups, queries, keys, size, causal = shape
    generator = torch.Generator().manual_seed(0)
    # Laid out as projections give them, which is not the order of heads and tokens.
    query = torch.randn(batch, queries, heads, size, generator=generator).mul(3).to(device, dtype).transpose(1, 2)
    key, value = (torch.randn(batch, groups, keys, size, generator=generator).to(device, dtype) for _ in range(2))
    of_layer: Any = SimpleNamespace(
        name="by hand",
        stack="decoder",
        layer_key=("decoder", 0),
        layer=0,
        heads=tuple(range(heads)),
        module=SimpleNamespace(is_causal=causal),
    )
    half = AttentionCall(of_layer, "sdpa", value, None, queries, query, key)
    wide = AttentionCall(of_layer, "sdpa", value.double(), None, queries, query.double(), key.double())
    return half, wide


def questions(shape: tuple[Any, ...], device: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """Operations and their arguments: enough of each for several launches."""
    batch, heads, _, queries, keys, _, _ = shape
    generator = torch.Generator().manual_seed(1)

    def draw(*size: int) -> Tensor:
        return torch.rand(size, generator=generator).to(device)

    def labels(size: int) -> Tensor:
        return torch.randint(-1, 4, (batch, size), generator=generator).to(device)

    entries = [torch.randint(0, size, (9,), generator=generator).to(device) for size in (batch, queries, keys)]
    asked: list[tuple[str, tuple[Any, ...]]] = [
        (name, ()) for name in ("total", "largest", "column_of_largest", "entropy", "distance")
    ]
    asked += [("mass", ((draw(batch, keys, 5) < 0.3).float(),)), ("mass", (draw(batch, keys, 150) - 0.5,))]
    asked += [("mass_on", (draw(batch, heads, keys) * 30 - 15,)) for _ in range(10)]
    asked += [("mass_on", (draw(batch, heads, keys) < 0.1,)), ("mass_on", (draw(batch, 1, keys),))]
    asked += [("mass_before", (draw(batch, keys) < 0.5,)), ("mass_before", (draw(batch, keys),))]
    asked += [("mass_on_equal", (labels(queries), labels(keys), anywhere)) for anywhere in (False, True, False)]
    asked += [("mass_on_equal", (labels(queries).int(), labels(keys).int()))]
    asked += [("mass_on_equal", (labels(queries) * 2**40, labels(keys) * 2**40))]
    asked += [("picture", (draw(batch, queries, 6), draw(batch, keys, 7)))]
    asked += [("received", (draw(batch, queries),)), ("entries", tuple(entries))]
    asked += [("diagonal", (offset,)) for offset in (-1, 0, 3, -queries - 5, keys + 5)]
    return [*asked, ("row", (queries // 2,)), ("row", (-1,))]


def compare(shape: tuple[Any, ...], dtype: torch.dtype, device: Any) -> None:
    """All answers of the kernels against those in float64."""
    half, wide = make_calls(shape, dtype, device)
    asked = questions(shape, device)
    fused, blocks = FusedPass(AttentionView(half)), BlockPass(AttentionView(wide), 64)
    results = [(name, getattr(fused, name)(*more), getattr(blocks, name)(*more)) for name, more in asked]
    fused.run()
    blocks.run()
    for name, find, expect in results:
        found, expected = find(), expect()
        assert found.shape == expected.shape, name
        if name == "column_of_largest":
            assert found.dtype == torch.long
            assert float((found != expected).float().mean()) < 0.01, "only where two scores are the same"
        elif found.numel():
            largest = max(float(expected.abs().max()), 1e-6)
            difference = float((found.double() - expected).abs().max())
            assert difference <= TOLERANCE.get(name, EXACT) * largest, (name, difference, largest)
