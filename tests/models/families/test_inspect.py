"""Which calls of a pass make a family, and which do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.models.families.inspect import SeenAttention, candidate_family, cut_candidates
from tests.contracts.zoo import LAYERS, tiny


def seen(model: Any) -> list[SeenAttention]:
    """What a pass over a model of a known family would show."""
    return [
        SeenAttention(block.name, block.output_name, block.stack, len(block.heads), block.head_size, block.kv_heads)
        for block in read_anatomy(model)
    ]


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5", "bart", "vit", "distilbert", "modernbert"])
def test_the_candidate_of_a_known_family_is_its_record(name: str) -> None:
    model = tiny(name)
    record = read_anatomy(model).family
    family = candidate_family(model, seen(model))
    assert {(plan.stack, plan.attention, plan.output) for plan in family.stacks} <= {
        (plan.stack, plan.attention, plan.output) for plan in record.stacks
    }
    for plan in family.stacks:
        block = read_anatomy(model).stacks[plan.stack][0]
        own = next(one for one in record.stacks if one.stack == plan.stack)
        tried = cut_candidates(plan, block.module, len(block.heads), block.head_size)
        assert (own.query, own.key, own.value, own.size, own.fused) in {
            (one.query, one.key, one.value, one.size, one.fused) for one in tried
        }


def test_a_task_head_does_not_change_the_path() -> None:
    model = tiny("llama", head="AutoModelForCausalLM")
    assert [plan.layer for plan in candidate_family(model, seen(model)).stacks] == ["layers.*"]


def test_what_fits_no_plan_is_refused() -> None:
    model = tiny("llama")
    calls = seen(model)
    for wrong, said in (
        (calls[1:], rf"of {LAYERS} layers, \[1, 2\] call"),
        (calls[::-1], r"\[2, 1, 0\] call"),
        ([*calls, calls[-1]], "several times in a pass"),
        ([*calls[:-1], replace(calls[-1], heads=2)], "unlike number or size"),
        ([*calls[:-1], replace(calls[-1], output="layers.0.self_attn.o_proj")], "is not a part of the layer layers.2"),
        ([*calls[:-1], replace(calls[-1], output="layers.2.mlp.down_proj")], "different names: mlp.down_proj"),
        ([replace(calls[0], attention="norm")], "in no list of layers"),
        ([replace(call, stack="cross") for call in calls], "are not an encoder, a decoder, or both"),
    ):
        with pytest.raises(UnknownFamily, match=f"layers: .*{said}"):
            candidate_family(model, wrong)
