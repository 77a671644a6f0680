"""Which rows and columns of a layer's weights belong to which head."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import headcount as hc
from headcount.models.anatomy import read_anatomy
from headcount.models.attention import is_projection
from tests.contracts.zoo import CASES, Case, inputs, tiny


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rows_of_a_head_decide_its_output_alone(case: Case) -> None:
    """Planted truth: noise in the value rows of one head changes the outputs of its group's readers only."""
    if case.name == "albert":
        pytest.skip("one layer's weights serve all layers")
    model, batch = tiny(case.name, case.kernels[0]), inputs(case)
    stack = case.stacks[0]
    block = read_anatomy(model).attention(stack, 0)
    before = hc.observe(model, batch, maps=False).outputs[stack][0]
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for part in block.slices(2):
            if part.role == "value":
                parameters[part.parameter].narrow(part.dim, part.start, part.stop - part.start).normal_()
    after = hc.observe(model, batch, maps=False).outputs[stack][0]
    changed = {head for head in block.heads if not torch.equal(before[head], after[head])}
    assert changed == {head for head in block.heads if block.groups[head] == block.groups[2]}


def test_groups_of_grouped_heads() -> None:
    block = read_anatomy(tiny("llama")).attention("decoder", 0)
    assert block.groups == (0, 0, 1, 1)
    assert block.kv_heads == 2


def test_parameters_of_all_heads_are_those_of_the_projections() -> None:
    for name in ("bert", "llama", "gpt2", "modernbert"):
        model = tiny(name)
        for block in read_anatomy(model):
            names = {part.parameter for head in block.heads for part in block.slices(head)}
            total = sum(parameter.numel() for key, parameter in model.named_parameters() if key in names)
            assert sum(block.parameters(head) for head in block.heads) == total


def test_columns_after_a_cut() -> None:
    """A head keeps its number, its columns are those among the heads that remain."""
    model = tiny("bert")
    hc.prune(model, "L0H0, L0H2")
    block = read_anatomy(model).attention("encoder", 0)
    assert block.layer_key == ("encoder", 0)
    assert [(head, block.column(head)) for head in block.heads] == [(1, 0), (3, 1)]
    (output,) = [part for part in block.slices(3) if part.role == "output"]
    assert (output.dim, output.start, output.stop) == (1, 8, 16)
    assert block.output_matrix.shape == (16, 32)


def test_which_modules_are_projections() -> None:
    class Adapted(nn.Linear):
        """What an adapter library puts in the place of a Linear."""

    model = tiny("gpt2")
    hc.prune(model, "L0")
    block = read_anatomy(model).attention("decoder", 0)
    assert is_projection(nn.Linear(2, 2))
    assert is_projection(tiny("gpt2").h[0].attn.c_attn)
    assert is_projection(block.output), "a layer without heads"
    assert not is_projection(Adapted(2, 2))
    assert not is_projection(nn.LayerNorm(2))
