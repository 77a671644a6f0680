"""Are modules given the shapes of the heads that stay, with weights and before there are any?"""

from __future__ import annotations

import ast
import copy
import inspect
import json
import sys
from typing import Any

import pytest
import torch
import transformers as tf
from torch import nn
from transformers.pytorch_utils import Conv1D

import headcount as hc
from headcount.models import shrink
from headcount.models.anatomy import read_anatomy
from headcount.models.surgery import make_record
from tests.closeness import assert_same
from tests.contracts.pruned import PRUNABLE, uneven
from tests.contracts.zoo import BY_NAME, Case, inputs, run, tiny

FAMILY = pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)


def test_it_needs_torch_and_transformers_alone() -> None:
    """A copy of the file goes with every saved model."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(shrink))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(str(node.module).split(".")[0])
    assert found - set(sys.stdlib_module_names) == {"torch", "transformers"}


@FAMILY
def test_before_there_are_weights(case: Case) -> None:
    """A model on no device gets the shapes that the cut gives one with weights; the record may come from a file."""
    pruned = hc.prune(tiny(case.name, case.kernels[0]), uneven(case))
    record = json.loads(json.dumps(pruned.config.headcount))
    with torch.device("meta"):
        empty = tf.AutoModel.from_config(case.make_config(), attn_implementation=case.kernels[0])
    assert shrink.shrink(empty, record) is empty
    assert {key: tensor.shape for key, tensor in empty.state_dict().items()} == {
        key: tensor.shape for key, tensor in pruned.state_dict().items()
    }
    assert read_anatomy(empty).layout == read_anatomy(pruned).layout
    empty = empty.to_empty(device="cpu").eval()
    empty.load_state_dict(pruned.state_dict())
    for (name, one), (_, other) in zip(empty.named_modules(), pruned.named_modules(), strict=True):
        numbers = [
            {key: value for key, value in vars(module).items() if type(value) in (int, list)} for module in (one, other)
        ]
        assert numbers[0] == numbers[1], name


@FAMILY
def test_a_second_time_changes_nothing(case: Case) -> None:
    pruned, batch = hc.prune(tiny(case.name, case.kernels[0]), uneven(case)), inputs(case)
    before, weights = run(pruned, batch), {key: one.data_ptr() for key, one in pruned.named_parameters()}
    hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in pruned.modules()]
    shrink.shrink(pruned, copy.deepcopy(pruned.config.headcount))
    assert torch.equal(run(pruned, batch), before)
    assert {key: one.data_ptr() for key, one in pruned.named_parameters()} == weights
    assert [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in pruned.modules()] == hooks


def test_nothing_to_take_is_no_change() -> None:
    model, batch = tiny("llama"), inputs(BY_NAME["llama"])
    plain = run(model, batch)
    anatomy = read_anatomy(model)
    shrink.shrink(model, make_record(anatomy, {"decoder": [[0, 1, 2, 3]] * 3}))
    assert torch.equal(run(model, batch), plain)
    assert read_anatomy(model).layout == anatomy.layout
    assert [block.groups for block in read_anatomy(model)] == [block.groups for block in anatomy]


def test_layers_come_by_number() -> None:
    """Layer 2 before layer 10, behind any prefix."""
    config = tf.BertConfig(
        vocab_size=9, hidden_size=8, num_hidden_layers=12, num_attention_heads=2, intermediate_size=8
    )
    model = tf.BertForMaskedLM(config)
    stack = {"layer": "encoder.layer.*", "attention": "attention.self"}
    assert shrink.layers_of(model, stack) == list(model.bert.encoder.layer)
    assert shrink.layers_of(model.bert, stack) == list(model.bert.encoder.layer)
    assert shrink.layers_of(model, stack | {"attention": "crossattention.self"}) == []


def test_a_record_of_another_number_of_layers_is_an_error() -> None:
    model = tiny("bert")
    record = make_record(read_anatomy(model), {"encoder": [[0, 1]] * 2})
    with pytest.raises(ValueError, match="shorter"):
        shrink.shrink(model, record)


@pytest.mark.parametrize("kind", ["linear", "conv"])
@pytest.mark.parametrize("bias", [True, False])
def test_projections_without_rows_or_columns(kind: str, bias: bool) -> None:
    def make() -> Any:
        made: Any = Conv1D(6, 4) if kind == "conv" else nn.Linear(4, 6)
        if not bias:
            made.bias = None
        return made

    states = torch.randn(2, 3, 4)
    rows = make()
    shrink._take(rows, "out", [], 2)
    shrink._silence(rows, 2)
    assert torch.equal(rows(states), torch.zeros(2, 3, 2))
    columns = make()
    expected = columns.bias.detach().clone() if bias else torch.zeros(6)
    shrink._take(columns, "in", [], 2)
    shrink._silence(columns, None)
    assert torch.equal(columns(torch.randn(2, 3, 2)), expected.expand(2, 3, 6))
    for module in (rows, columns):
        assert not module.weight.numel()
        module(torch.randn(2, 4 if module is rows else 2)).sum().backward()
        assert module.weight.grad is not None, "training on several devices would wait for it"
        assert isinstance(copy.deepcopy(module), Conv1D if kind == "conv" else nn.Linear)
    if bias:
        assert torch.equal(columns.bias.grad, torch.full((6,), 2.0)), "it is still added"


@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_blocks_of_rows_and_columns(kind: str) -> None:
    module: Any = Conv1D(6, 4) if kind == "conv" else nn.Linear(4, 6)
    nn.init.normal_(module.double().bias)
    states = torch.randn(5, 4, dtype=torch.float64)
    whole = module(states)
    shrink._take(module, "out", [2, 0], 2)
    assert_same(module(states), whole[:, [4, 5, 0, 1]])
    assert (module.nf if kind == "conv" else module.out_features) == 4
    weight = module.weight if kind == "conv" else module.weight.T
    expected = states[:, 2:] @ weight[2:] + module.bias
    shrink._take(module, "in", [1], 2)
    assert_same(module(states[:, 2:]), expected)
    assert (module.nx if kind == "conv" else module.in_features) == 2


def test_frozen_weights_stay_frozen() -> None:
    model = tiny("bert")
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    hc.prune(model, "L0H1")
    assert not any(parameter.requires_grad for parameter in model.parameters())


class Cache:
    """Keeps what it is given."""

    def update(self, key: torch.Tensor, value: torch.Tensor, *_: Any) -> tuple[torch.Tensor, torch.Tensor]:
        self.kept = key, value
        return key, value


@pytest.mark.parametrize("cached", [True, False])
def test_keys_and_values_are_spread_behind_the_cache(cached: bool) -> None:
    cache = Cache() if cached else None
    hook = shrink.SpreadGroups([3, 1])
    args, kwargs = hook(None, (1,), {"past_key_values": cache, "other": 2})
    assert (args, kwargs["other"]) == ((1,), 2)
    key, value = torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
    found = kwargs["past_key_values"].update(key, value, 0)
    for spread, states in zip(found, (key, value), strict=True):
        assert torch.equal(spread, states[:, [0, 0, 0, 1]])
    if cache is not None:
        assert cache.kept[0] is key, "the cache holds each once"


def test_a_layer_takes_the_bias_of_its_heads() -> None:
    bias = torch.randn(1, 6, 3, 3)
    _, kwargs = shrink.ChooseBias([5, 2])(nn.Module(), (), {"position_bias": bias})
    assert torch.equal(kwargs["position_bias"], bias[:, [5, 2]])
    args, _ = shrink.ChooseBias([1])(nn.Module(), ("hidden", "mask", bias), {})
    assert args[:2] == ("hidden", "mask")
    assert torch.equal(args[2], bias[:, [1]])


def test_the_next_layer_gets_the_bias_of_all_heads() -> None:
    """T5: a layer that lost heads stands below one that lost others, and below one that lost none."""
    model = hc.prune(tiny("t5"), ["encoder.L0H0", "encoder.L1H3"])
    seen: dict[int, torch.Tensor] = {}
    for number, block in enumerate(model.encoder.block):
        block.layer[0].SelfAttention.register_forward_hook(
            lambda _, __, output, number=number: seen.__setitem__(number, output[1])
        )
    run(model, inputs(BY_NAME["t5"]))
    assert {number: bias.shape[1] for number, bias in seen.items()} == {0: 4, 1: 4, 2: 4}
    assert torch.equal(seen[0], seen[1])
    assert torch.equal(seen[0], seen[2])
