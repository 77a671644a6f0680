"""Which layers the kernels are used for, how columns are packed, and what happens where they do not run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from headcount.trace import blocked_view as blocked_module
from headcount.trace import fused_pass as module
from headcount.trace.blocked_view import BlockedView, in_blocks_if_long
from headcount.trace.call import AttentionCall
from headcount.trace.fused_pass import _Columns, _small_labels, can_fuse, has_kernels, is_worthwhile
from headcount.trace.view import AttentionView
from tests.trace.fused_cases import make_calls

SHAPE = (1, 4, 2, 600, 600, 16, True)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a GPU were there."""
    monkeypatch.setattr(module, "has_kernels", lambda device: True)


def half(**changes: Any) -> AttentionCall:
    call = make_calls(SHAPE, torch.bfloat16, "cpu")[0]
    for name, value in changes.items():
        setattr(call, name, value)
    return call


def test_a_cpu_has_none() -> None:
    assert not has_kernels(torch.device("cpu"))
    assert not can_fuse(AttentionView(half()))


@pytest.mark.usefixtures("kernels")
def test_plain_attention_in_half_precision() -> None:
    assert can_fuse(AttentionView(half()))
    assert can_fuse(AttentionView(half(implementation="eager")))
    assert can_fuse(AttentionView(half(implementation="flash_attention_2")))
    assert is_worthwhile(AttentionView(half()))
    assert isinstance(in_blocks_if_long(AttentionView(half())), BlockedView)


@pytest.mark.usefixtures("kernels")
def test_everything_else_goes_through_blocks() -> None:
    wide = make_calls(SHAPE, torch.bfloat16, "cpu")[1]
    call, mask = half(), torch.ones(1, 1, 600, 600, dtype=torch.bool).tril()
    refused = [wide, half(mask=mask), half(mask=mask.float()), half(mask=torch.ones(1, 600)), half(query=None)]
    refused += [half(options={name: value}) for name, value in (("softcap", 5.0), ("s_aux", torch.zeros(4)))]
    refused += [half(options={"position_bias": torch.zeros(1, 4, 600, 600)})]
    refused += [half(implementation="flash_attention_2", options={"sliding_window": 8})]
    refused += [half(implementation="flash_attention_2", queries=500, query=call.query[:, :, :500])]  # type: ignore[index]
    refused += [call.of_queries(slice(0, 10)), half(query=torch.zeros(1, 4, 600, 256, dtype=torch.bfloat16))]
    assert not any(can_fuse(AttentionView(one)) for one in refused)
    assert not can_fuse(AttentionView(call, None, (lambda weights, call: weights,)))
    short = AttentionView(make_calls((1, 4, 2, 100, 100, 16, True), torch.bfloat16, "cpu")[0])
    assert can_fuse(short)
    assert not is_worthwhile(short)
    assert in_blocks_if_long(short) is short


@pytest.mark.usefixtures("kernels")
def test_where_they_do_not_run_blocks_answer_and_a_warning_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any) -> None:
        exec("raise RuntimeError('no compiler')", {"__name__": "triton.backends"})

    monkeypatch.setattr(module, "_failed", [])
    monkeypatch.setattr(blocked_module.FusedPass, "run", fail)
    call = half()
    expected = AttentionView(call).largest
    with pytest.warns(UserWarning, match="no compiler"):
        found = BlockedView(AttentionView(call)).largest
    torch.testing.assert_close(found, expected)
    assert module._failed == ["RuntimeError: no compiler"]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("full"), RuntimeError("CUDA error: an illegal access"), KeyError("x")]
)
def test_other_errors_are_not_hidden(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any) -> None:
        raise error

    monkeypatch.setattr(blocked_module.FusedPass, "run", fail)
    with pytest.raises(type(error)):
        _ = BlockedView(AttentionView(half())).largest


@pytest.mark.parametrize("twice", [False, True])
def test_columns_of_many_operations_are_packed_into_groups(twice: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    columns, weights = _Columns(32, twice), torch.rand(2, 3, 5, 7, generator=generator)
    given = [torch.randn(2, 7, size, generator=generator) * 100 for size in (3, 20, 40, 1)]
    finds = [columns.add(one) for one in given]
    assert all(sum(one.shape[-1] for one in group) <= 32 // (1 + twice) for group in columns.groups)
    for number in range(len(columns.groups)):
        packed, scale = columns.packed(number)
        assert packed is not None
        assert (packed.dtype, packed.shape[-1] & (packed.shape[-1] - 1)) == (torch.float16, 0)
        assert float(packed.abs().max()) <= 1
        columns.keep(weights @ packed.float()[:, None], scale)
    for one, find in zip(given, finds, strict=True):
        torch.testing.assert_close(find(), weights @ one[:, None], rtol=0, atol=1e-4 if twice else 0.2)
    assert columns.packed(len(columns.groups)) == (None, None)


def test_labels_of_any_size_become_small_ones() -> None:
    queries, keys = _small_labels(torch.tensor([[2**60, -1, 3]]), torch.tensor([[3, -5, 2**60]]))

    def equal(one: Tensor, other: Tensor) -> list[list[bool]]:
        return (one[0][:, None] == other[0]).tolist()  # type: ignore[no-any-return]

    assert queries.dtype == keys.dtype == torch.int32
    assert equal(queries, keys) == [[False, False, True], [False, False, False], [True, False, False]]
