"""Uniform attention under the masks of flash and flex kernels, which CI cannot run, and beside attention sinks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.ablation.replacements import Uniform
from headcount.trace.masks import allowed_counts
from headcount.trace.uniform import uniform_mass, uniform_outputs, uniform_weights
from tests.closeness import FLOAT32, assert_same
from tests.contracts import naive, unknown
from tests.contracts.zoo import Case, inputs, run
from tests.gpu.device import DTYPE, TOLERANCE, largest_share
from tests.gpu.test_flex import CASES, build
from tests.trace.test_masks import MASKS, PADDING, call
from tests.trace.test_scores import HEADS, KEYS, with_sinks


def test_flash_encoder_means_over_padding() -> None:
    one = call("bert", "flash_attention_2", PADDING)
    means = uniform_outputs(one, [1])
    assert_same(means[1, 0, 0], one.value[1, 1, 2:].mean(0))
    assert_same(uniform_weights(one)[1, 0, 3], [0, 0, 1 / 3, 1 / 3, 1 / 3])


def test_a_flex_mask_is_read_through_its_function() -> None:
    from torch.nn.attention.flex_attention import create_block_mask

    mask = create_block_mask(lambda b, h, q, k: q >= k, 2, 4, 5, 5, device="cpu")
    one = call("mistral", "flex_attention", mask)
    means = uniform_outputs(one, [3])
    assert_same(means[0, 2, 0], one.value[0, 1, :3].mean(0))


def by_head(b: Any, h: Any, q: Any, k: Any) -> Any:
    """Head 0 sees everything, head 1 two tokens back at most, head 2 one, ..."""
    return (h == 0) | ((q >= k) & (q - k < 4 - h))


@pytest.mark.parametrize("kind", ["flex", "bool", "float"])
@pytest.mark.parametrize("places", [None, [2], [3, 1]], ids=str)
def test_a_mask_of_each_heads_own(kind: str, places: list[int] | None) -> None:
    """Each head that is replaced gets the mean over the keys that it may attend to."""
    from torch.nn.attention.flex_attention import create_block_mask

    h, q, k = torch.arange(4)[:, None, None], torch.arange(5)[:, None], torch.arange(5)
    allowed = by_head(None, h, q, k)[None]
    mask: Any = allowed
    if kind == "flex":
        mask = create_block_mask(by_head, 2, 4, 5, 5, device="cpu")
    elif kind == "float":
        mask = torch.zeros(1, 4, 5, 5).masked_fill(~allowed, torch.finfo(torch.float32).min)
    one = call("mistral", "flex_attention" if kind == "flex" else "sdpa", mask)
    chosen = list(range(4)) if places is None else places
    weights = allowed.double() / allowed.sum(-1, keepdim=True)
    expected = weights[:, chosen] @ one.value[:, [head // 2 for head in chosen]]
    assert_same(uniform_outputs(one, places), expected.transpose(1, 2))
    assert_same(uniform_weights(one, places).expand(2, -1, -1, -1), weights[:, chosen].expand(2, -1, -1, -1))
    assert_same(allowed_counts(one).expand(2, 4, 5), allowed.sum(-1).float().expand(2, -1, -1))
    maps = torch.rand(2, 4, 5, 5, dtype=torch.float64)
    changed = Uniform(chosen).change_map(maps, one)
    assert_same(changed[:, chosen], weights[:, chosen].expand(2, -1, -1, -1))
    others = [head for head in range(4) if head not in chosen]
    assert torch.equal(changed[:, others], maps[:, others])


@pytest.fixture
def flex_without_a_compiler() -> Iterator[None]:
    with torch.compiler.set_stance("force_eager"), warnings.catch_warnings():
        # PyTorch's and transformers' own about each other.
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("flex_without_a_compiler")
@pytest.mark.parametrize("padding", ["none", "right"])
@pytest.mark.parametrize("heads", [["L1H2"], ["L1H2", "L2H0-1"], ["L1"], ["L0", "L1", "L2"]], ids=" ".join)
@DTYPE
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_uniform_under_flex_attention(case: Case, dtype: torch.dtype, heads: list[str], padding: str) -> None:
    batch = inputs(case, padding)
    model = build(case, dtype, device="cpu")
    plain = run(model, batch)
    expected = naive.run_with_uniform_weights(build(case, dtype, "eager", "cpu").float(), heads, batch)
    with hc.ablated(model, heads, how="uniform"):
        without = run(model, batch)
        seen = hc.observe(model, batch)
    assert largest_share(without, expected) <= TOLERANCE[dtype]
    assert largest_share(plain, expected) > 3 * largest_share(without, expected), "the heads made no difference"
    sums = next(iter(seen.maps.values())).float().sum(-1)
    real = batch["attention_mask"].bool()
    assert largest_share(sums[:, :, real], torch.ones_like(sums[:, :, real])) <= TOLERANCE[dtype]


def test_a_static_cache_stops_at_the_queries() -> None:
    one = call("mistral", "sdpa", None, queries=3)
    assert_same(uniform_outputs(one, [0])[0, 2, 0], one.value[0, 0, :3].mean(0))


@pytest.mark.parametrize("name", MASKS)
def test_no_map_is_needed_for_uniform_attention(name: str) -> None:
    """Under every kind of mask, also a flash kernel's window without padding."""
    one = MASKS[name]()
    weights = uniform_weights(one).double()
    classes = torch.rand(2, 5, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    expected = torch.matmul(weights, classes[:, None])
    assert_same(uniform_mass(one, classes).expand_as(expected), expected)
    values = torch.einsum("bhqk,bkd->bqhd", weights.expand(2, 1, -1, -1), one.value[:, 0])
    assert_same(uniform_outputs(one, [0]), values)


@pytest.mark.parametrize("size", [-30.0, 0.0, 30.0])
def test_a_sink_gets_nothing(size: float) -> None:
    """Whatever a head gives to its sink, uniform attention is a mean over the keys that the mask allows."""
    allowed = torch.ones(KEYS, KEYS, dtype=torch.bool).tril()
    mask = torch.zeros(2, 1, KEYS, KEYS, dtype=torch.float64).masked_fill_(~allowed, torch.finfo(torch.float64).min)
    attention, weights = with_sinks(torch.full((HEADS,), size, dtype=torch.float64), mask)
    assert (weights.sum(-1).mean() > 0.9) == (size < 0), "the sinks take hardly anything, some, or nearly all"
    expected = allowed.double() / allowed.sum(-1, keepdim=True)
    assert_same(uniform_weights(attention)[1, 0], expected)
    assert_same(uniform_outputs(attention)[1, :, 3], expected @ attention.value[1, 1])


def test_uniform_ablation_of_a_model_with_sinks() -> None:
    """GPT-OSS: the maps of ablated heads are uniform over the past of a window, with rows that sum to 1."""
    model = unknown.make("gpt_oss")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                parameter.fill_(2.0)
    batch = {"input_ids": torch.tensor([[3, 4, 5, 6, 7, 8]])}
    plain = hc.observe(model, batch).maps["decoder"]
    with hc.ablated(model, ["L0H1"], how="uniform"):
        seen = hc.observe(model, batch)
    assert plain[0, 1].sum(-1).max() < 0.99, "the sinks take their share"
    query, key = torch.arange(6)[:, None], torch.arange(6)
    window = model.config.sliding_window if model.config.layer_types[0] == "sliding_attention" else 6
    allowed = (key <= query) & (query - key < window)
    assert_same(seen.maps["decoder"][0, 1, 0], allowed.float() / allowed.sum(-1, keepdim=True), FLOAT32)
    assert_same(seen.maps["decoder"][0, [0, 2, 3]], plain[0, [0, 2, 3]], FLOAT32)
