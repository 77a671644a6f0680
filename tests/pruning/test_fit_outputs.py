"""Is a fitted output projection the least-squares answer, and does a cut that loses nothing change nothing?"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import headcount as hc
from headcount.errors import InvalidOption
from headcount.models.anatomy import read_anatomy
from headcount.models.load import load_model
from headcount.models.output_weights import read_output_weights
from headcount.pruning.fit_outputs import fit_outputs
from headcount.pruning.gram import gram_matrices
from tests.closeness import ROUNDED, assert_same
from tests.contracts.pruned import aligned
from tests.contracts.zoo import BY_NAME, exact, inputs, run
from tests.pruning.naive_refit import FAMILIES, batches, columns, cut, errors, given, read_by_outputs, token_weights

FAMILY = pytest.mark.parametrize("name", FAMILIES)


def fitted(whole: Any, name: str, how: str, ridge: float = 1e-3) -> Any:
    case = BY_NAME[name]
    return fit_outputs(
        cut(whole, case), gram_matrices(whole, batches(case)), read_output_weights(whole), how=how, ridge=ridge
    )


@FAMILY
def test_more_freedom_leaves_less_error(name: str) -> None:
    """On the texts of the fit, block by block, by plain hooks: weights <= scales <= none."""
    whole, case = exact(name), BY_NAME[name]
    read = read_by_outputs(whole, batches(case))
    none = errors(cut(whole, case), whole, read)
    scales, weights = (errors(fitted(whole, name, how), whole, read) for how in ("scales", "weights"))
    lost = {key for key, error in none.items() if error > 1e-9}
    assert len(lost) == (7 if case.kind == "pair" else 5)
    for key, error in none.items():
        if key not in lost:
            assert weights[key] == scales[key] == error
            continue
        assert scales[key] <= error
        assert weights[key] <= scales[key] * (1 + 1e-9)
    partly = [key for key in lost if weights[key] < scales[key]]  # a block that has lost everything has its mean output
    assert sum(map(weights.get, partly)) < 0.9 * sum(map(scales.get, partly)) < 0.9 * sum(map(none.get, partly))


@FAMILY
@pytest.mark.parametrize("ridge", [0.0, 1e-2])
def test_weights_are_those_of_a_naive_least_squares(name: str, ridge: float) -> None:
    """Over the tokens themselves, with the penalty as further rows that pull the weights to what they were."""
    whole, case = exact(name), BY_NAME[name]
    read = read_by_outputs(whole, batches(case))
    model = fitted(whole, name, "weights", ridge)
    for key, states in read.items():
        kept, block, before = columns(model, whole, key), read_anatomy(model).block(key), read_anatomy(whole).block(key)
        if len(kept) == states.shape[1]:
            continue
        bias = getattr(before.output, "bias", None)
        inside, root = states[:, kept], token_weights(before, states).sqrt()[:, None]
        old = before.output_matrix[kept]
        pull = (ridge * (root * inside).pow(2).sum(0).mean()) ** 0.5 if kept else torch.tensor(0.0)
        rows = [root * inside, pull * torch.eye(len(kept), dtype=inside.dtype)]
        target = [root * given(before, states), pull * old]
        if bias is not None:
            rows = [
                torch.cat([part, constant], 1)
                for part, constant in zip(rows, (root, torch.zeros(len(kept), 1)), strict=True)
            ]
        if not rows[0].shape[1]:
            continue
        answer = torch.linalg.lstsq(torch.cat(rows).double(), torch.cat(target), driver="gelsd").solution
        assert_same(block.output_matrix, answer[: len(kept)], 1e-4 if case.float32_inside else 1e-7, key)
        if bias is not None:
            assert_same(block.output.bias.detach(), answer[-1], 1e-4 if case.float32_inside else 1e-7, key)


@FAMILY
def test_scales_are_those_of_a_naive_least_squares(name: str) -> None:
    whole, case = exact(name), BY_NAME[name]
    read = read_by_outputs(whole, batches(case))
    model = fitted(whole, name, "scales", 0)
    for key, states in read.items():
        kept, block, before = columns(model, whole, key), read_anatomy(model).block(key), read_anatomy(whole).block(key)
        if not kept or len(kept) == states.shape[1]:
            continue
        matrix, size = before.output_matrix, before.size
        parts = [kept[start : start + size] for start in range(0, len(kept), size)]
        states = token_weights(before, states).sqrt()[:, None] * states
        added = torch.stack([(states[:, part] @ matrix[part]).flatten() for part in parts], 1)
        factors = torch.linalg.lstsq(added, (states @ matrix).flatten()[:, None], driver="gelsd").solution
        expected = matrix[kept] * factors.repeat_interleave(size, 0)
        assert_same(block.output_matrix, expected, 1e-5 if case.float32_inside else 1e-8, key)


@torch.no_grad()
def with_twins(name: str) -> Any:
    """In each layer, units 7 and 8 are copies of unit 1, and unit 9 is one of unit 2."""
    model = exact(name)
    for blocks in read_anatomy(model).feed_forwards.values():
        for block in blocks:
            for _, module in block.inputs:
                part: Any = module
                for row, source in ((7, 1), (8, 1), (9, 2)):
                    for half in range(block.plan.halves):
                        at, of = half * block.count + row, half * block.count + source
                        rows = part.weight.T if name == "gpt2" else part.weight
                        rows[at] = rows[of]
                        if part.bias is not None:
                            part.bias[at] = part.bias[of]
    return model


@FAMILY
def test_units_that_others_can_stand_in_for_go_without_a_change(name: str) -> None:
    """Three copies of other units: without a penalty their work moves, and the outputs are those of before."""
    whole, case = with_twins(name), BY_NAME[name]
    names = ["L0U7-9", "L1U7", "L2U1", "L2U9"]
    if case.kind == "pair":
        names = [f"{stack}.{name}" for name in names for stack in ("encoder", "decoder")]
    model = hc.prune(copy.deepcopy(whole), names)
    other = inputs(case, "none", seed=99)
    assert (run(model, other) - run(whole, other)).abs().max() > 1e-2
    fit_outputs(model, gram_matrices(whole, batches(case, 16)), read_output_weights(whole), ridge=0)
    assert_same(run(model, other), run(whole, other), 1e-4 if case.float32_inside else 1e-7)


def test_a_block_without_anything_gives_its_mean_output() -> None:
    whole, case = exact("bert"), BY_NAME["bert"]
    some = batches(case)
    read = read_by_outputs(whole, some)
    for how in ("weights", "scales"):
        model = fitted(whole, "bert", how)
        block: Any = read_anatomy(model).feed_forward("encoder", 1)
        before, states = read_anatomy(whole).feed_forward("encoder", 1), read["encoder.units", 1]
        weights = token_weights(before, states)
        assert_same(block.output.bias.detach(), weights @ given(before, states) / weights.sum())


def test_what_a_few_tokens_have_is_not_spread_over_all_others() -> None:
    """A unit that fires at the first token alone, hundreds of times as much as others: without it, other tokens stay.

    A mean over tokens would be about the first ones, and the bias would give a part of it to every other token.
    """
    whole, case = exact("bert"), BY_NAME["bert"]
    some = [inputs(case, "none", seed=seed) for seed in range(8)]
    for batch in some:
        batch["input_ids"][:, 0] = 2
    layer: Any = whole.encoder.layer[0]
    read: list[Tensor] = []
    handle = layer.intermediate.dense.register_forward_pre_hook(lambda _, args: read.append(args[0].detach()))
    for batch in some:
        run(whole, batch)
    handle.remove()
    states = torch.cat(read)
    first, others = states[:, 0], states[:, 1:].flatten(0, 1)
    told = torch.cat([torch.ones(len(first)), torch.zeros(len(others))]).double()
    direction = torch.linalg.lstsq(torch.cat([first, others]), told[:, None]).solution[:, 0]
    between = ((first @ direction).min() + (others @ direction).max()) / 2
    assert (first @ direction).min() > between > (others @ direction).max(), "the first token can be told apart"
    with torch.no_grad():
        scale = 300 / ((first @ direction).mean() - between)
        layer.intermediate.dense.weight[5] = scale * direction
        layer.intermediate.dense.bias[5] = -scale * between
        layer.output.dense.weight[:, 5] = 1
    key = ("encoder.units", 0)
    given_by = read_by_outputs(whole, some)[key]
    sizes = given(read_anatomy(whole).block(key), given_by).pow(2).sum(-1)
    ordinary = sizes < 100 * sizes.median()
    assert sizes[~ordinary].min() > 500 * sizes.median()
    cut = hc.prune(copy.deepcopy(whole), ["L0U5", "L0U9"])
    lost = copy.deepcopy(cut)
    fit_outputs(cut, gram_matrices(whole, some), read_output_weights(whole))
    before = given(read_anatomy(whole).block(key), given_by)[ordinary]
    left = [column for column in range(given_by.shape[1]) if column not in (5, 9)]
    apart, unfitted = (
        (given(read_anatomy(model).block(key), given_by[:, left])[ordinary] - before).pow(2).sum(-1).mean()
        for model in (cut, lost)
    )
    assert apart < unfitted
    assert apart < 0.05 * before.pow(2).sum(-1).mean()


def test_many_cuts_share_grams_and_weights_and_earlier_fits_do_not_matter() -> None:
    whole, case = exact("gpt2"), BY_NAME["gpt2"]
    grams, weights = gram_matrices(whole, batches(case)), read_output_weights(whole)
    first = fit_outputs(cut(whole, case), grams, weights)
    again = fit_outputs(fit_outputs(cut(whole, case), grams, weights, "scales"), grams, weights)
    assert all(torch.equal(tensor, again.state_dict()[key]) for key, tensor in first.state_dict().items())
    twice = hc.prune(fit_outputs(cut(whole, case), grams, weights), ["L0H2", "L0U30-33"])
    at_once = hc.prune(cut(whole, case), ["L0H2", "L0U30-33"])
    for model in (twice, at_once):
        fit_outputs(model, grams, weights)
    assert all(torch.equal(tensor, twice.state_dict()[key]) for key, tensor in at_once.state_dict().items())


@FAMILY
def test_saved_and_loaded(name: str, tmp_path: Path) -> None:
    model = fitted(exact(name), name, "weights")
    hc.save(model, None, tmp_path / "small")
    loaded = aligned(load_model(tmp_path / "small", attn_implementation="sdpa"))
    batch = inputs(BY_NAME[name], "right")
    assert torch.equal(run(loaded, batch), run(model, batch))


def test_only_blocks_with_grams() -> None:
    whole, case = exact("bert"), BY_NAME["bert"]
    model = cut(whole, case)
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    key = ("encoder", 0)
    fit_outputs(model, gram_matrices(whole, batches(case), [key]), read_output_weights(whole, [key]))
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed == {f"encoder.layer.0.attention.output.dense.{name}" for name in ("weight", "bias")}


def test_float32_models_stay_float32() -> None:
    whole = exact("bert").float()
    model = fitted(whole, "bert", "weights")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    weight: Tensor = read_anatomy(model).attention("encoder", 0).output_matrix
    assert_same(
        weight.double(),
        read_anatomy(fitted(whole.double(), "bert", "weights")).attention("encoder", 0).output_matrix,
        ROUNDED * 10,
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"how": "all"}, "got how='all'; expected one of weights, scales"),
        ({"ridge": -1.0}, "got ridge=-1.0; expected a finite number, at least 0"),
        ({"ridge": float("nan")}, "got ridge=nan; expected a finite number, at least 0"),
    ],
)
def test_bad_options(options: Any, expected: str) -> None:
    whole = exact("bert")
    with pytest.raises(InvalidOption) as caught:
        fit_outputs(cut(whole, BY_NAME["bert"]), gram_matrices(whole, [inputs(BY_NAME["bert"])]), {}, **options)
    assert str(caught.value) == expected
