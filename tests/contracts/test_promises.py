"""The promises of docs/architecture.md, for every family, kernel and padding."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.ablation.replacements import REPLACEMENTS
from headcount.models.anatomy import read_anatomy
from tests.closeness import assert_same
from tests.contracts import naive
from tests.contracts.zoo import CASES, HEADS, LAYERS, Case, all_cases, exact, inputs, run, tiny

EVERY = pytest.mark.parametrize(
    ("case", "kernel", "padding"), all_cases(), ids=lambda value: getattr(value, "name", value)
)
FAMILY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def gates_like(case: Case, value: float = 1.0) -> Any:
    gates = {stack: torch.full((LAYERS, HEADS), value) for stack in case.stacks}
    return gates if case.kind == "pair" else gates[case.stacks[0]]


@EVERY
def test_gates_of_one_change_nothing(case: Case, kernel: str, padding: str) -> None:
    model, batch = tiny(case.name, kernel), inputs(case, padding)
    plain = run(model, batch)
    with hc.gated(model, gates_like(case)):
        assert torch.equal(run(model, batch), plain)
    assert torch.equal(run(model, batch), plain)


@EVERY
def test_zero_equals_zeroed_columns(case: Case, kernel: str, padding: str) -> None:
    model, batch = exact(case.name, kernel), inputs(case, padding)
    heads = case.spell("L1H2")
    if case.name == "albert":  # the columns serve every layer, so the same head goes everywhere
        heads = ["L0H2", "L1H2", "L2H2"]
    zeroed = naive.with_zero_columns(model, heads)
    plain = run(model, batch)
    with hc.ablated(model, heads, how="zero"):
        without = run(model, batch)
    assert_same(without, run(zeroed, batch), case.within)
    assert (without - plain).abs().max() > 1e-3, "the head made no difference: the test would prove nothing"


@EVERY
def test_uniform_equals_overwritten_weights(case: Case, kernel: str, padding: str) -> None:
    batch = inputs(case, padding)
    heads = [*case.spell("L1H2"), *case.spell("L2H0-1")]
    expected = naive.run_with_uniform_weights(exact(case.name, "eager"), heads, batch)
    model = exact(case.name, kernel)
    with hc.ablated(model, heads, how="uniform"):
        without = run(model, batch)
    assert_same(without, expected, case.within)
    assert (without - run(model, batch)).abs().max() > 1e-3


@EVERY
def test_mean_puts_the_mean_over_real_tokens(case: Case, kernel: str, padding: str) -> None:
    model, batch = exact(case.name, kernel), inputs(case, padding)
    seen = hc.observe(model, batch)
    stack = case.stacks[-1]
    outputs = seen.outputs[stack][1, 2]  # [example, query, size]
    kept = outputs.flatten(0, 1)
    if case.kind in ("encoder", "decoder"):
        kept = outputs[batch["attention_mask"].bool()]
    head = case.spell("L1H2")[-1]
    with hc.ablated(model, head, how="mean", reference=batch):
        replaced = hc.observe(model, batch, maps=False).outputs[stack][1, 2]
    assert_same(replaced, kept.mean(0).expand_as(replaced), case.within)


@FAMILY
@pytest.mark.parametrize("how", REPLACEMENTS)
def test_nothing_stays_behind(case: Case, how: str) -> None:
    model, batch = tiny(case.name, case.kernels[0]), inputs(case, "none" if case.kind == "vision" else "right")
    plain, reference = run(model, batch), batch if how == "mean" else None
    hooks = _hooks(model)
    for _ in range(2):
        with hc.ablated(model, case.spell("L1H2"), how=how, reference=reference):
            once = run(model, batch)
            with (
                hc.ablated(model, case.spell("L0"), how=how, reference=reference),
                hc.gated(model, gates_like(case, 0.5)),
            ):
                run(model, batch)
            assert torch.equal(run(model, batch), once), "an inner context took the outer one's edits along"
        assert torch.equal(run(model, batch), plain)
    with pytest.raises(ZeroDivisionError), hc.ablated(model, case.spell("L1"), how=how, reference=reference):
        run(model, batch)
        raise ZeroDivisionError
    assert torch.equal(run(model, batch), plain)
    assert _hooks(model) == hooks


def _hooks(model: torch.nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


@FAMILY
def test_an_error_in_the_pass_leaves_nothing(case: Case) -> None:
    model, batch = tiny(case.name, case.kernels[0]), inputs(case)
    plain = run(model, batch)
    wrong = {key: value[0, 0] for key, value in batch.items()}
    with (
        pytest.raises((ValueError, IndexError, RuntimeError, AttributeError, TypeError)),
        hc.ablated(model, case.spell("L0H1"), how="uniform"),
    ):
        run(model, wrong)
    assert torch.equal(run(model, batch), plain)


@FAMILY
@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_copies_are_plain_models(case: Case, how: str) -> None:
    model, batch = tiny(case.name, case.kernels[0]), inputs(case)
    plain = run(model, batch)
    with hc.ablated(model, case.spell("L1"), how=how):
        without = run(model, batch)
        copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        for other in copies:
            assert torch.equal(run(other, batch), plain)
        assert torch.equal(run(model, batch), without)
    for other in [*copies, copy.deepcopy(model)]:
        assert torch.equal(run(other, batch), plain)
        with hc.ablated(other, case.spell("L1"), how=how):
            assert torch.equal(run(other, batch), without)


@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_two_models_do_not_touch_each_other(how: str) -> None:
    case = next(case for case in CASES if case.name == "bert")
    first, second, batch = tiny("bert"), tiny("bert"), inputs(case, "right")
    plain = run(second, batch)
    with hc.ablated(first, "L1H2", how=how):
        assert torch.equal(run(second, batch), plain)
        with hc.ablated(second, "L2", how=how):
            both = run(first, batch)
        assert torch.equal(run(first, batch), both)
        assert torch.equal(run(second, batch), plain)


@FAMILY
@pytest.mark.parametrize("how", REPLACEMENTS)
def test_batch_padding_and_order_do_not_matter(case: Case, how: str) -> None:
    """Each example alone and without padding gives what it gives inside a padded batch, in any order."""
    if case.kind == "vision":
        batch, rows = inputs(case), [2, 0, 1]
    else:
        batch, rows = inputs(case, "right"), [2, 0, 1]
    model = exact(case.name, case.kernels[0])
    options = {"how": how, "reference": batch if how == "mean" else None}
    with torch.no_grad(), hc.ablated(model, case.spell("L1H2"), **options):  # type: ignore[arg-type]
        together = model(**{key: value[rows] for key, value in batch.items()}).last_hidden_state
        for place, row in enumerate(rows):
            one = {key: value[row : row + 1] for key, value in batch.items()}
            if case.kind != "vision":
                length = int(one["attention_mask"].sum())
                one = {key: v if key.startswith("decoder") else v[:, :length] for key, v in one.items()}
            alone = model(**one).last_hidden_state
            assert_same(together[place, : alone.shape[1]], alone[0], case.within)


@FAMILY
def test_gradients_of_gates_equal_finite_differences(case: Case) -> None:
    model, batch = exact(case.name, case.kernels[0]), inputs(case)
    gates = {stack: torch.ones(LAYERS, HEADS, dtype=torch.float64, requires_grad=True) for stack in case.stacks}

    def loss(values: dict[str, torch.Tensor]) -> torch.Tensor:
        with hc.gated(model, values if case.kind == "pair" else values[case.stacks[0]]):
            hidden = model(**batch).last_hidden_state[:, -1]
        return (hidden * torch.linspace(-1, 1, hidden.shape[-1], dtype=torch.float64)).sum()

    loss(gates).backward()
    step = 1e-3  # norms and rotary embeddings stay in float32
    for stack in case.stacks:
        for layer, head in ((0, 1), (2, 3)):
            ends = []
            for sign in (1, -1):
                moved = {name: tensor.detach().clone() for name, tensor in gates.items()}
                moved[stack][layer, head] += sign * step
                ends.append(loss(moved).item())
            expected = (ends[0] - ends[1]) / (2 * step)
            gradient = gates[stack].grad
            assert gradient is not None
            assert gradient[layer, head].item() == pytest.approx(expected, rel=2e-3, abs=2e-3)
            assert abs(expected) > 2e-3, "the gate made no difference: the test would prove nothing"


@EVERY
def test_observed_maps_are_the_models_own(case: Case, kernel: str, padding: str) -> None:
    batch = inputs(case, padding)
    expected = naive.own_maps(exact(case.name, "eager"), batch)
    seen = hc.observe(exact(case.name, kernel), batch)
    for stack, maps in seen.maps.items():
        real = naive.real_queries(case, stack, batch)
        for layer in range(LAYERS):
            assert_same(maps[layer].transpose(0, 1)[real], expected[stack][layer][real], case.within)


@FAMILY
def test_an_unknown_place_is_an_error(case: Case) -> None:
    model = tiny(case.name, case.kernels[0])
    for name in (f"L{LAYERS}H0", f"L0H{HEADS}"):
        with pytest.raises(hc.HeadcountError), hc.ablated(model, case.spell(name)):
            pass


@FAMILY
def test_every_head_has_its_own_rows_and_columns(case: Case) -> None:
    """The slices of all heads cover each projection once (key/value groups once for each of their readers)."""
    model = tiny(case.name, case.kernels[0])
    parameters = dict(model.named_parameters())
    for block in read_anatomy(model):
        covered: dict[tuple[str, int], list[int]] = {}
        for head in block.heads:
            for part in block.slices(head):
                covered.setdefault((part.parameter, part.dim), []).extend(range(part.start, part.stop))
        for (name, dim), numbers in covered.items():
            assert set(numbers) == set(range(parameters[name].shape[dim])), name
