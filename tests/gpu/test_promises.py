"""The promises of docs/architecture.md on every attention kernel of the device, in float32 and bfloat16."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.ablation.replacements import REPLACEMENTS
from headcount.errors import NotReached, UnknownHead
from tests.contracts import naive
from tests.contracts.zoo import BY_NAME, HEADS, LAYERS, Case, run
from tests.gpu.device import (
    DEVICE,
    DTYPE,
    EPSILON,
    EVERY,
    GPU,
    NAMES,
    TOLERANCE,
    batch_for,
    largest_share,
    on_device,
    run_plain,
    spelled,
    using,
)

pytestmark = GPU

FAMILY = pytest.mark.parametrize("name", NAMES)


def gates_like(case: Case, value: float = 1.0) -> Any:
    gates = {stack: torch.full((LAYERS, HEADS), value) for stack in case.stacks}
    return gates if case.kind == "pair" else gates[case.stacks[0]]


def own_kernel(case: Case) -> str:
    return "sdpa" if "sdpa" in case.kernels else "eager"


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        (kernel, dtype)
        for kernel in ("math", "efficient", "flash")
        for dtype in (torch.float32, torch.bfloat16, torch.float16)
        if (kernel, dtype) != ("flash", torch.float32)
    ],
    ids=spelled,
)
def test_the_kernels_run_at_all(kernel: str, dtype: torch.dtype) -> None:
    """Elsewhere a kernel that does not take the inputs is skipped: on a plain BERT none may be missing."""
    if kernel == "efficient" and DEVICE.type != "cuda":
        pytest.skip("the efficient kernel exists on CUDA alone")
    with using(kernel):
        assert torch.isfinite(run(on_device("bert", kernel, dtype), batch_for(BY_NAME["bert"]))).all()


@EVERY
def test_gates_of_one_change_nothing(name: str, kernel: str, dtype: torch.dtype, padding: str) -> None:
    case = BY_NAME[name]
    model, batch = on_device(name, kernel, dtype), batch_for(case, padding, dtype)
    plain = run_plain(model, batch, kernel)
    with using(kernel), hc.gated(model, gates_like(case)):
        assert torch.equal(run(model, batch), plain)


@EVERY
def test_zero_equals_zeroed_columns(name: str, kernel: str, dtype: torch.dtype, padding: str) -> None:
    case = BY_NAME[name]
    model, batch = on_device(name, kernel, dtype), batch_for(case, padding, dtype)
    plain, heads = run_plain(model, batch, kernel), case.spell("L1H2")
    with using(kernel):
        expected = run(naive.with_zero_columns(model, heads), batch)
        with hc.ablated(model, heads, how="zero"):
            without = run(model, batch)
    assert largest_share(without, expected) <= EPSILON[dtype]
    assert largest_share(plain, expected) > 2 * EPSILON[dtype], "the head made no difference"


@EVERY
def test_nothing_stays_behind(name: str, kernel: str, dtype: torch.dtype, padding: str) -> None:
    """After contexts of every kind, after an error inside one, and after an error in the middle of a pass."""
    case = BY_NAME[name]
    model, batch = on_device(name, kernel, dtype), batch_for(case, padding, dtype)
    plain, hooks = run_plain(model, batch, kernel), hooks_of(model)
    for how in REPLACEMENTS:
        options: Any = {"how": how, "reference": batch if how == "mean" else None}
        with using(kernel):
            with hc.ablated(model, case.spell("L1H2"), **options):
                once = run(model, batch)
                with hc.ablated(model, case.spell("L0"), **options), hc.gated(model, gates_like(case, 0.5)):
                    run(model, batch)
                assert torch.equal(run(model, batch), once), "an inner context took the outer one's edits along"
            assert torch.equal(run(model, batch), plain)
            with pytest.raises(ZeroDivisionError), hc.ablated(model, case.spell("L1"), **options):
                run(model, batch)
                raise ZeroDivisionError
            assert torch.equal(run(model, batch), plain)
            broken = hc.read_anatomy(model).attention(case.stacks[-1], 2).output.register_forward_hook(fail)
            with pytest.raises(ZeroDivisionError), hc.ablated(model, case.spell("L1"), **options):
                run(model, batch)
            broken.remove()
            assert torch.equal(run(model, batch), plain)
    assert hooks_of(model) == hooks


def fail(*_: Any) -> None:
    raise ZeroDivisionError


def hooks_of(model: torch.nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


@DTYPE
@FAMILY
def test_pruning_equals_zero(name: str, dtype: torch.dtype) -> None:
    case = BY_NAME[name]
    kernel = own_kernel(case)
    model, batch = on_device(name, kernel, dtype), batch_for(case, "right", dtype)
    heads = [*case.spell("L0H1"), *case.spell("L1H0"), *case.spell("L1H3")]
    with hc.ablated(model, heads, how="zero"):
        expected = run(model, batch)
    pruned = hc.prune(copy.deepcopy(model), heads)
    assert {parameter.device.type for parameter in pruned.parameters()} == {DEVICE.type}
    assert sum(map(torch.numel, pruned.parameters())) < sum(map(torch.numel, model.parameters()))
    assert largest_share(run(pruned, batch), expected) <= TOLERANCE[dtype]
    assert largest_share(run(model, batch), expected) > 2 * TOLERANCE[dtype], "the heads made no difference"


@DTYPE
@FAMILY
@pytest.mark.parametrize("how", REPLACEMENTS)
def test_batch_padding_and_order_do_not_matter(name: str, how: str, dtype: torch.dtype) -> None:
    """Each example alone and without padding gives what it gives inside a padded batch, in any order."""
    case, rows = BY_NAME[name], [2, 0, 1]
    model, batch = on_device(name, own_kernel(case), dtype), batch_for(case, "right", dtype)
    options: Any = {"how": how, "reference": batch if how == "mean" else None}
    with torch.no_grad(), hc.ablated(model, case.spell("L1H2"), **options):
        together = model(**{key: value[rows] for key, value in batch.items()}).last_hidden_state
        for number, row in enumerate(rows):
            one = {key: value[row : row + 1] for key, value in batch.items()}
            if case.kind != "vision":
                length = int(one["attention_mask"].sum())
                one = {key: value if key.startswith("decoder") else value[:, :length] for key, value in one.items()}
            alone = model(**one).last_hidden_state[0]
            assert largest_share(together[number, : len(alone)], alone) <= TOLERANCE[dtype]


@FAMILY
def test_an_unknown_head_is_an_error(name: str) -> None:
    case = BY_NAME[name]
    model = on_device(name, own_kernel(case))
    for word in (f"L{LAYERS}H0", f"L0H{HEADS}"):
        with pytest.raises(UnknownHead), hc.ablated(model, case.spell(word)):
            pass


@DTYPE
@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_a_layer_that_is_not_reached_is_an_error(how: str, dtype: torch.dtype) -> None:
    model, batch = on_device("bart", "sdpa", dtype), batch_for(BY_NAME["bart"])
    encoded = model.get_encoder()(batch["input_ids"])
    with pytest.raises(NotReached, match=r"encoder\.L1"), hc.ablated(model, "encoder.L1H0", how=how):
        model(encoder_outputs=encoded, decoder_input_ids=batch["decoder_input_ids"])


@DTYPE
def test_a_kernel_changed_inside_the_context_is_an_error(dtype: torch.dtype) -> None:
    model, batch = on_device("bert", "sdpa", dtype), batch_for(BY_NAME["bert"])
    with pytest.raises(NotReached), hc.ablated(model, "L1H0", how="uniform"):
        model.set_attn_implementation("eager")
        run(model, batch)
