"""The reductions of an attention view against plain softmax maps in float64, and how little of a map they need."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headcount.models.anatomy import read_anatomy
from headcount.trace import scores as scores_module
from headcount.trace.call import AttentionCall
from headcount.trace.edits import LayerRun
from headcount.trace.scores import entropy_without_map
from headcount.trace.session import session
from headcount.trace.view import AttentionView
from tests.closeness import EXACT
from tests.contracts.zoo import BY_NAME, exact, inputs

SIZE, CLASSES = 8, 3
LEAST = torch.finfo(torch.float64).min
FAMILIES = ("bert", "albert", "modernbert", "deberta-v2", "gpt2", "llama", "mistral", "t5", "bart")


def block(heads: int, groups: int, causal: bool = False) -> Any:
    return SimpleNamespace(
        name="by hand",
        stack="encoder",
        layer_key=("encoder", 0),
        layer=0,
        heads=tuple(range(heads)),
        groups=tuple(head // (heads // groups) for head in range(heads)),
        module=SimpleNamespace(is_causal=causal),
    )


def softmax_map(call: AttentionCall, allowed: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """The plain map in float64: every head with the keys of its group, what is not allowed left out."""
    assert call.query is not None
    assert call.key is not None
    key = call.key.double()[:, list(call.block.groups)]
    scale = call.options.get("scaling")
    scores = call.query.double() @ key.transpose(2, 3) * (SIZE**-0.5 if scale is None else scale)
    if call.options.get("softcap") is not None:
        scores = (scores / call.options["softcap"]).tanh() * call.options["softcap"]
    if bias is not None:
        scores = scores + bias.double()
    if allowed is not None:
        scores = scores.masked_fill(~allowed, float("-inf"))
    return scores.softmax(-1)


def random_allowed(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """Any keys, at least one for each query."""
    allowed = torch.rand(shape, generator=generator) < 0.6
    sure = torch.randint(0, shape[-1], (*shape[:-1], 1), generator=generator)
    return allowed.scatter(-1, sure, True)


@st.composite
def calls(draw: st.DrawFn) -> tuple[AttentionCall, Tensor]:
    """A call, and its map."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    batch, groups, readers = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    queries, keys, heads = draw(st.integers(1, 9)), draw(st.integers(1, 9)), groups * readers
    kind = draw(st.sampled_from(["none", "causal", "bool", "float", "infinite"]))
    options: dict[str, Any] = draw(st.sampled_from([{}, {"scaling": 0.7}, {"scaling": None, "dropout": 0.0}]))
    query = torch.randn(batch, heads, queries, SIZE, generator=generator, dtype=torch.float64)
    key, value = (torch.randn(batch, groups, keys, SIZE, generator=generator, dtype=query.dtype) for _ in range(2))
    allowed: Tensor | None = None
    mask = None
    if kind == "causal":
        place = torch.arange(keys)
        # A single query is the last one of a text that is being written: it sees all keys.
        allowed = place <= torch.arange(queries)[:, None] if queries > 1 else None
    elif kind != "none":
        allowed = random_allowed(
            generator, (draw(st.sampled_from([1, batch])), draw(st.sampled_from([1, heads])), queries, keys)
        )
        low = LEAST if kind == "float" else float("-inf")
        mask = allowed if kind == "bool" else torch.zeros(allowed.shape, dtype=query.dtype).masked_fill(~allowed, low)
    implementation = "sdpa" if kind == "causal" else draw(st.sampled_from(["sdpa", "eager"]))
    call = AttentionCall(
        block(heads, groups, kind == "causal"), implementation, value, mask, queries, query, key, None, options
    )
    return call, softmax_map(call, allowed)


def close(found: Tensor, expected: Tensor, atol: float = EXACT) -> None:
    """Attention is a share of 1, so that the unit itself is the scale."""
    torch.testing.assert_close(found.double(), expected.double(), atol=atol, rtol=0)


def entropy_of(weights: Tensor) -> Tensor:
    return torch.special.entr(weights.double()).sum(-1)


def check_reductions(make: Any, expected: Tensor, seed: int = 0) -> None:
    """All that can be asked of a view against the map; `make` gives a fresh view with these classes."""
    generator = torch.Generator().manual_seed(seed)
    batch, heads, queries, keys = expected.shape
    classes = (torch.rand(batch, keys, CLASSES, generator=generator) < 0.5).double()
    view = make(classes)
    close(view.unnormalised / view.total[..., None], expected)
    close(view.map, expected)
    assert view.built
    close(view.mass, torch.einsum("bhqk,bkc->bhqc", expected, classes.double()))
    chosen = torch.rand(batch, heads, keys, generator=generator) < 0.5
    close(view.mass_on(chosen), (expected * chosen[:, :, None]).sum(-1))
    some = chosen[:, 0]
    close(view.mass_before(some), (expected.tril(-1) * some[:, None, None]).sum(-1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headcount.trace.view.ROWS", 2)
        close(view.mass_before(some), (expected.tril(-1) * some[:, None, None]).sum(-1))
    labels, others = (torch.randint(-1, 3, (batch, size), generator=generator) for size in (queries, keys))
    equal = ((labels[:, :, None] == others[:, None]) & (labels >= 0)[..., None])[:, None]
    for rows in (2, 128):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("headcount.trace.view.ROWS", rows)
            close(view.mass_on_equal(labels, others), (expected.tril(-1) * equal).sum(-1))
            close(view.mass_on_equal(labels, others, anywhere=True), (expected * equal).sum(-1))
    real = (torch.rand(batch, queries, generator=generator) < 0.7).float()
    close(view.received(real), torch.einsum("bhqk,bq->bhk", expected, real.double()))
    for offset in range(-queries - 1, keys + 2):
        pairs = [(query, query + offset) for query in range(queries) if 0 <= query + offset < keys]
        found = view.diagonal(offset)
        assert found.shape == (batch, heads, len(pairs))
        for place, (query, key) in enumerate(pairs):
            close(found[..., place], expected[..., query, key])
    example, query, key = (torch.randint(0, size, (7,), generator=generator) for size in (batch, queries, keys))
    close(view.entries(example, query, key), expected[example, :, query, key])
    for number in range(queries):
        close(view.row(number), expected[:, :, number])
    close(view.largest, expected.amax(-1))
    close(expected.gather(-1, view.column_of_largest[..., None])[..., 0], expected.amax(-1))
    close(view.entropy(), entropy_of(expected))
    close(make(None).entropy(), entropy_of(expected))


@settings(max_examples=60, deadline=None)
@given(calls())
def test_reductions_are_those_of_the_softmax_map(made: tuple[AttentionCall, Tensor]) -> None:
    call, expected = made
    check_reductions(lambda classes: AttentionView(call, classes), expected)


@settings(max_examples=60, deadline=None)
@given(calls())
def test_entropy_needs_no_map(made: tuple[AttentionCall, Tensor]) -> None:
    call, expected = made
    found = entropy_without_map(call)
    assert found is not None
    close(found, entropy_of(expected))
    view = AttentionView(call, torch.ones(len(expected), expected.shape[-1], 1))
    close(view.entropy(), entropy_of(expected))
    assert not view.built


@settings(max_examples=30, deadline=None)
@given(calls())
def test_a_map_that_is_given_is_taken_as_it_is(made: tuple[AttentionCall, Tensor]) -> None:
    """Changed by an edit, or from a family that computes it itself and hands out neither queries nor keys."""
    call, expected = made
    other = expected.flip(-1)
    changed = (lambda weights, _: weights * 0, lambda weights, _: weights + other)
    check_reductions(lambda classes: AttentionView(call, classes, changed), other.double())
    silent = AttentionCall(call.block, "module", call.value, None, call.queries, weights=other)
    check_reductions(lambda classes: AttentionView(silent, classes), other.double())


def by_hand(mask: Any = None, implementation: str = "sdpa", queries: int = 6, **options: Any) -> AttentionCall:
    generator = torch.Generator().manual_seed(5)
    query, key, value = (
        torch.randn(2, 4, size, SIZE, generator=generator, dtype=torch.float64) for size in (queries, 6, 6)
    )
    return AttentionCall(block(4, 4), implementation, value, mask, queries, query, key, None, options)


def test_values_are_those_that_each_head_reads() -> None:
    value = torch.randn(2, 2, 5, SIZE)
    call = AttentionCall(block(6, 2), "sdpa", value, None, 5, torch.randn(2, 6, 5, SIZE), value)
    assert torch.equal(AttentionView(call).values, value.repeat_interleave(3, 1))
    assert AttentionView(by_hand()).values.shape == (2, 4, 6, SIZE)


def test_softcap_and_position_bias_are_in_the_map() -> None:
    capped = by_hand(softcap=1.5)
    check_reductions(lambda classes: AttentionView(capped, classes), softmax_map(capped))
    bias = torch.randn(1, 4, 6, 9, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    biased = by_hand(position_bias=bias, scaling=1.0)
    check_reductions(lambda classes: AttentionView(biased, classes), softmax_map(biased, bias=bias[..., :6]))


@pytest.mark.parametrize("size", [5.0, 20.0])
def test_sharp_attention(size: float) -> None:
    """Scores in the hundreds: the entropy is a small difference of large numbers."""
    call = by_hand()
    assert call.query is not None
    call.query = call.query * size
    expected = softmax_map(call)
    view = AttentionView(call)
    assert view.entropy().min() >= 0
    close(view.entropy(), entropy_of(expected))
    close(view.map, expected)
    close(view.entropy(), entropy_of(expected))


def test_dtypes_of_queries() -> None:
    for dtype, atol in ((torch.float64, EXACT), (torch.float32, 1e-5), (torch.bfloat16, 0.05)):
        call = by_hand()
        call.query, call.key, call.value = (one.to(dtype) for one in (call.query, call.key, call.value))  # type: ignore[union-attr]
        expected = softmax_map(call)
        close(AttentionView(call).entropy(), entropy_of(expected), atol)
        view = AttentionView(call)
        close(view.map, expected, atol)
        close(view.entropy(), entropy_of(expected), atol)


def test_flash_padding() -> None:
    padding = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    call = by_hand(padding, "flash_attention_2")
    expected = softmax_map(call, padding.bool()[:, None, None].expand(-1, -1, 6, -1))
    check_reductions(lambda classes: AttentionView(call, classes), expected)


def test_a_bias_in_the_mask() -> None:
    """A mask of numbers, as ALiBi gives it: the map has them in it."""
    bias = torch.randn(2, 4, 6, 6, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    call = by_hand(bias)
    close(AttentionView(call).map, softmax_map(call, bias=bias))


@pytest.mark.parametrize("built", [False, True])
def test_the_entropy_under_a_bias_in_the_mask(built: bool) -> None:
    bias = torch.randn(2, 4, 6, 6, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    call = by_hand(bias)
    view = AttentionView(call)
    assert not built or view.map.any()
    close(view.entropy(), entropy_of(softmax_map(call, bias=bias)))


@pytest.mark.parametrize("number", [True, False], ids=["float", "bool"])
def test_a_query_that_may_attend_to_nothing_has_a_row_of_zeros(number: bool) -> None:
    allowed = torch.ones(2, 1, 6, 6, dtype=torch.bool)
    allowed[1, 0, 4:] = False
    call = by_hand(torch.zeros(allowed.shape, dtype=torch.float64).masked_fill(~allowed, LEAST) if number else allowed)
    view = AttentionView(call, torch.ones(2, 6, 1))
    expected = softmax_map(call, allowed).nan_to_num(0)
    close(view.map, expected)
    close(view.mass[..., 0], expected.sum(-1))
    close(view.received(torch.ones(2, 6)), expected.sum(-2))


@pytest.mark.parametrize("built", [False, True])
def test_the_entropy_under_a_flex_mask(built: bool) -> None:
    from torch.nn.attention.flex_attention import create_block_mask

    mask = create_block_mask(lambda b, h, q, k: q >= k, 2, 4, 6, 6, device="cpu")
    call = by_hand(mask, "flex_attention")
    expected = softmax_map(call, torch.ones(6, 6, dtype=torch.bool).tril())
    view = AttentionView(call)
    if built:
        close(view.map, expected)
    close(view.entropy(), entropy_of(expected))


def heard(model: Any, batch: dict[str, Tensor]) -> dict[tuple[str, int], AttentionCall]:
    found: dict[tuple[str, int], AttentionCall] = {}

    def keep(run: LayerRun) -> None:
        assert run.call is not None
        found[run.layer_key] = run.call

    observers = {(block.stack, block.layer): keep for block in read_anatomy(model)}
    with torch.no_grad(), session(model, observers=observers, purpose="test"):
        model(**batch)
    return found


@pytest.mark.parametrize("padding", ["none", "right", "left"])
@pytest.mark.parametrize(
    "name", ["bert", "albert", "modernbert", "deberta-v2", "gpt2", "llama", "mistral", "t5", "bart"]
)
def test_real_calls_against_the_weights_that_the_model_hands_out(name: str, padding: str) -> None:
    case = BY_NAME[name]
    batch = inputs(case, padding)
    plain = exact(name, "eager")
    with torch.no_grad():
        result = plain(**batch, output_attentions=True)
    keys = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    for kernel in case.kernels:
        calls_made = heard(exact(name, kernel), batch)
        assert len(calls_made) == len(case.stacks) * 3
        for (stack, layer), call in calls_made.items():
            expected = result[keys[stack] if case.kind == "pair" else "attentions"][layer]
            usable = torch.ones(expected.shape[:-1], dtype=torch.bool)
            if stack == "encoder" or case.kind == "decoder":  # what a query at a padding place does means nothing
                usable &= batch["attention_mask"].bool()[:, None]
            assert usable.any()
            entropy = AttentionView(call).entropy()
            view = AttentionView(call)
            close(view.map[usable], expected[usable], case.within)
            close(view.entropy()[usable], entropy_of(expected)[usable], case.within)
            close(entropy[usable], entropy_of(expected)[usable], case.within)


def test_the_map_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    real = scores_module._scores
    monkeypatch.setattr(scores_module, "_scores", lambda call: made.append(call) or real(call))
    call = by_hand()
    view = AttentionView(call, torch.ones(2, 6, 2))
    assert not view.built
    view.entropy()
    assert not made
    _ = view.mass, view.map, view.largest, view.column_of_largest, view.total, view.diagonal(1), view.row(0)
    view.received(torch.ones(2, 6))
    view.entropy()
    assert len(made) == 1
