"""Is a model without feed-forward units, in all that can be done with it, the whole model with these units at zero?"""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.core.units import Selection, UnitSet
from headcount.errors import CannotPrune, InvalidOption, NotReached, UnknownHead
from headcount.models.anatomy import read_anatomy
from headcount.models.load import load_model
from headcount.models.shrink import dim_of
from headcount.models.zeroed import zeroed
from tests.closeness import assert_same
from tests.contracts.pruned import PRUNABLE, Before, aligned, clean_environment, whole
from tests.contracts.test_pruning import paddings
from tests.contracts.zoo import CASES, Case, exact, inputs, run, tiny

FAMILY = pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)
ANY_FAMILY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
KERNEL = pytest.mark.parametrize(
    ("case", "kernel"),
    [pytest.param(case, kernel, id=f"{case.name}-{kernel}") for case in PRUNABLE for kernel in case.kernels],
)


def uneven(case: Case) -> list[str]:
    """Some units of the first layer, all of the second, one of the third, and heads beside them."""
    names = ["L0U1-7", "L0U30", "L1U", "L2U0", "L0H1", "L2H0-1"]
    if case.kind == "pair":
        return [*(f"encoder.{name}" for name in names), "decoder.L0U", "decoder.L2U3-9", "cross.L0H0", "decoder.L1"]
    return names


def with_zero_units(model: Any, units: Any) -> Any:
    """A copy of the model in which the output projections have zeros for these units: the naive way."""
    model = copy.deepcopy(model)
    anatomy = read_anatomy(model)
    with torch.no_grad():
        for (stack, layer), numbers in UnitSet.of(units, anatomy.units).by_layer().items():
            output: Any = anatomy.feed_forward(stack, layer).output
            output.weight.index_fill_(dim_of(output, "in"), torch.tensor(numbers), 0)
    return model


def units_of(names: list[str]) -> list[str]:
    return [name for name in names if "U" in name]


@ANY_FAMILY
def test_every_family_has_a_record_of_its_feed_forward_layers(case: Case) -> None:
    anatomy = read_anatomy(tiny(case.name, case.kernels[0]))
    stacks = ("encoder", "decoder") if case.kind == "pair" else case.stacks
    assert tuple(anatomy.units.stacks) == stacks
    for stack in stacks:
        assert anatomy.units.layers(stack) == anatomy.layout.layers(stack)
        block = anatomy.feed_forward(stack, 0)
        assert anatomy.units.width(stack) == block.output_matrix.shape[0] >= 40


@ANY_FAMILY
def test_gates_of_one_change_nothing_and_leave_nothing(case: Case) -> None:
    model, batch = exact(case.name, case.kernels[0]), inputs(case, paddings(case)[-1])
    before, layout = Before(model, batch), read_anatomy(model).units
    with hc.gated(
        model, units={stack: torch.ones(layout.layers(stack), layout.width(stack)) for stack in layout.stacks}
    ):
        assert torch.equal(run(model, batch), run(model, batch))
        inside = run(model, batch)
    before.check()
    assert torch.equal(inside, run(model, batch))


@ANY_FAMILY
@pytest.mark.parametrize("padding", ["none", "right"])
def test_ablating_units_is_zeroing_their_columns(case: Case, padding: str) -> None:
    if case.kind == "vision" and padding != "none":
        pytest.skip("images are not padded")
    model, batch = exact(case.name, case.kernels[0]), inputs(case, padding)
    units = units_of(uneven(case)) if case.name != "albert" else ["L0U1-7", "L1U1-7", "L2U1-7"]
    with hc.ablated(model, units):
        found = run(model, batch)
    assert_same(found, run(with_zero_units(model, units), batch), case.within)
    assert (found - run(model, batch)).abs().max() > 1e-3


@ANY_FAMILY
def test_each_example_has_its_own_gates(case: Case) -> None:
    """Also where the block sees a batch as one sequence."""
    model, batch = exact(case.name, case.kernels[0]), inputs(case, "none")
    anatomy = read_anatomy(model)
    stack = next(iter(anatomy.units.stacks))
    rows = len(next(iter(batch.values())))
    gates = torch.ones(rows, anatomy.units.layers(stack), anatomy.units.width(stack), dtype=torch.float64)
    gates[0, 1, 3:20] = 0
    gates.requires_grad_()
    with hc.gated(model, units={stack: gates}):
        outputs = model(**batch)[0]
    outputs[0].pow(3).sum().backward()  # the plain sum of what a LayerNorm gives is constant
    assert gates.grad is not None
    assert gates.grad[0].abs().max() > 0
    assert torch.equal(gates.grad[1:], torch.zeros_like(gates.grad[1:]))
    alone = {key: value[1:] for key, value in batch.items()}
    with torch.no_grad():
        assert_same(outputs[1:].detach(), model(**alone)[0], case.within)


@KERNEL
def test_ablated_cut_loaded_and_zeroed_are_one(case: Case, kernel: str, tmp_path: Path) -> None:
    model, names = whole(case.name, kernel).double(), uneven(case)
    pruned = hc.prune(copy.deepcopy(model), names)
    hc.save(pruned, None, tmp_path / "pruned")
    loaded = aligned(load_model(tmp_path / "pruned", attn_implementation=kernel))
    assert read_anatomy(loaded).units == read_anatomy(pruned).units
    assert read_anatomy(loaded).layout == read_anatomy(pruned).layout
    filled = zeroed(pruned)
    assert read_anatomy(filled).units == read_anatomy(model).units
    for padding in paddings(case):
        batch = inputs(case, padding)
        found = run(pruned, batch)
        with hc.ablated(model, names):
            assert_same(found, run(model, batch), case.within)
        assert torch.equal(run(loaded, batch), found)
        assert_same(run(filled, batch), found, case.within)
    left = read_anatomy(pruned).units
    assert left.count == read_anatomy(model).units.count - len(UnitSet.of(units_of(names), read_anatomy(model).units))


@FAMILY
def test_cut_again_and_trained_on(case: Case) -> None:
    """Units keep their numbers through a second cut; what is left can be trained."""
    model, batch = exact(case.name, case.kernels[0]), inputs(case, "none")
    at_once = copy.deepcopy(model)
    first, second = case.spell("L0U1-7")[0], case.spell("L0U9")[0]
    hc.prune(hc.prune(model, [first]), [second])
    hc.prune(at_once, [first, second])
    assert read_anatomy(model).units == read_anatomy(at_once).units
    assert torch.equal(run(model, batch), run(at_once, batch))
    with pytest.raises(UnknownHead, match="has units 0, 8, 10-"):
        hc.prune(model, [second])
    model(**batch)[0].sum().backward()
    block = next(iter(read_anatomy(model).feed_forwards.values()))[0]
    weight: Any = block.output.weight
    assert weight.grad is not None
    assert weight.grad.shape == weight.shape


@FAMILY
def test_loads_without_headcount(case: Case, tmp_path: Path) -> None:
    if case.name not in ("bert", "gpt2", "llama", "t5", "modernbert"):
        pytest.skip("one family of each build is enough: a process takes seconds")
    model = whole(case.name, case.kernels[0])
    hc.save(hc.prune(model, uneven(case)), None, tmp_path / "pruned")
    batch = inputs(case, "none")
    with torch.no_grad():
        torch.save({"batch": batch, "found": model(**batch)[0]}, tmp_path / "expected.pt")
    code = (
        "import sys, torch, transformers\n"
        "sys.modules['headcount'] = None\n"
        f"model = transformers.AutoModel.from_pretrained({str(tmp_path / 'pruned')!r}, trust_remote_code=True, "
        f"attn_implementation={case.kernels[0]!r}).eval()\n"
        f"kept = torch.load({str(tmp_path / 'expected.pt')!r})\n"
        "with torch.no_grad():\n"
        "    found = model(**kept['batch'])[0]\n"
        "assert (found - kept['found']).abs().max() <= 1e-4 * kept['found'].abs().max(), 'other outputs'\n"
    )
    environment = clean_environment(HF_MODULES_CACHE=str(tmp_path / "modules"))
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "gpt2", "llama", "opt", "vit", "bart"])
def test_even_widths_are_said_by_a_plain_config(name: str, tmp_path: Path) -> None:
    """All layers keep as many units, and all heads: transformers loads it without foreign code."""
    import transformers

    case = next(case for case in CASES if case.name == name)
    model = whole(name)
    names = [f"L{layer}U{layer}-{layer + 9}" for layer in range(3)]
    stacks = ("encoder", "decoder") if case.kind == "pair" else ("",)
    pruned = hc.prune(model, [f"{stack}.{word}" if stack else word for stack in stacks for word in names])
    hc.save(pruned, None, tmp_path / "pruned")
    assert not list((tmp_path / "pruned").glob("*.py"))
    plain = transformers.AutoModel.from_pretrained(tmp_path / "pruned").eval()
    batch = inputs(case, "none")
    assert torch.equal(run(aligned(plain), batch), run(aligned(pruned), batch))
    assert (
        read_anatomy(plain).units == read_anatomy(pruned).units == read_anatomy(load_model(tmp_path / "pruned")).units
    )


def test_mean_of_units_is_that_of_a_hook() -> None:
    model = exact("bert", "sdpa")
    case = next(case for case in CASES if case.name == "bert")
    batch = inputs(case, "right")
    seen: list[torch.Tensor] = []
    output: Any = read_anatomy(model).feed_forward("encoder", 1).output
    hook = output.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with torch.no_grad():
        model(**batch)
    hook.remove()
    mean = seen[0][batch["attention_mask"].bool()].mean(0)
    kept = hc.mean_outputs(model, batch, units=True)
    assert_same(kept["encoder.units"][1, :, 0], mean, case.within)
    with hc.ablated(model, ["L1U4"], how="mean", reference=batch):
        found = run(model, batch)
    hook = output.register_forward_pre_hook(
        lambda _, args: (torch.cat([args[0][..., :4], mean[4].expand(*args[0].shape[:-1], 1), args[0][..., 5:]], -1),)
    )
    assert_same(found, run(model, batch), case.within)
    hook.remove()


def test_dead_units_and_heads_are_found_by_their_names() -> None:
    selection = Selection.of("L0H1, L1U0-1 L2", *_layouts())
    assert str(selection) == "L0H1, L2, L1U0-1"
    assert (len(selection.heads), len(selection.units)) == (5, 2)


def _layouts() -> tuple[Any, Any]:
    anatomy = read_anatomy(tiny("bert"))
    return anatomy.layout, anatomy.units


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 39)), min_size=1, max_size=60))
def test_names_of_units_are_read_as_they_are_written(numbers: list[tuple[int, int]]) -> None:
    _, layout = _layouts()
    some = UnitSet.of([f"L{layer}U{unit}" for layer, unit in numbers], layout)
    assert set(some) == {("encoder", layer, unit) for layer, unit in numbers}
    assert UnitSet.of(str(some).split(", "), layout) == some
    assert ~~some == some
    assert len(some) + len(~some) == layout.count


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["L0U40"], "L0U has units 0-39; units are counted from 0"),
        (["L3U"], "layers L0 to L2"),
        (["L0U-3"], "expected L3U7"),
        (["cross.L0U1"], "no feed-forward layers in a stack 'cross'"),
    ],
)
def test_unknown_units(names: list[str], message: str) -> None:
    with pytest.raises(UnknownHead, match=message), hc.ablated(tiny("bert"), names):
        pass


def test_units_have_no_attention() -> None:
    with pytest.raises(InvalidOption, match="units have no attention"), hc.ablated(tiny("bert"), "L0U1", how="uniform"):
        pass


def test_shared_layers_cannot_lose_units() -> None:
    with pytest.raises(CannotPrune, match="uses the weights of one layer for all"):
        hc.prune(tiny("albert"), ["L0U1"])


def test_units_that_are_not_reached_are_an_error() -> None:
    model = tiny("bert")
    layer: Any = model.encoder.layer[1]
    layer.feed_forward_chunk = lambda states: states
    case = next(case for case in CASES if case.name == "bert")
    with pytest.raises(NotReached, match="L1U"), hc.ablated(model, ["L1U3"]):
        run(model, inputs(case, "none"))


def test_mixtures_of_experts_are_refused() -> None:
    from transformers import MixtralConfig, MixtralModel

    config = MixtralConfig(
        vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=2, num_experts_per_tok=1, max_position_embeddings=32,
    )  # fmt: skip
    with pytest.raises(UnknownHead, match="mixtures of experts"):
        hc.prune(MixtralModel(config), ["L0U1"])
