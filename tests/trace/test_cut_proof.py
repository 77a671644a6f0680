"""A cut is proved by what it gives: right names are found, a cut that gives something else is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import headcount.trace.small_passes as module
from headcount.models.anatomy import Anatomy, read_anatomy
from headcount.models.example_inputs import example_inputs
from headcount.models.families.lookup import remember_proved
from headcount.models.families.plan import Family, StackPlan
from headcount.trace.cut_proof import prove_cut
from headcount.trace.small_passes import SmallPasses
from tests.contracts.unknown import HEADS, make

SIZE = 8


def bare_record(passes: SmallPasses, layer: str, attention: str, output: str) -> tuple[Family, Anatomy]:
    """The record that a small pass shows of a model, without the names that a cut needs."""
    stack = "encoder" if "encoder" in layer else "decoder"
    kv_heads = getattr(passes.model.config, "num_key_value_heads", HEADS)
    plan = StackPlan(stack, layer, attention, output, query=None, key=None, value=None, size=None)
    family = Family((passes.model.config.model_type,), (plan,), measured=((stack, SIZE, kv_heads),))
    remember_proved(passes.model, family)
    return family, read_anatomy(passes.model)


@pytest.mark.parametrize(
    ("name", "paths", "names"),
    [
        ("starcoder2", ("layers.*", "self_attn", "self_attn.o_proj"), ("q_proj", "k_proj", "v_proj", None)),
        ("ernie", ("encoder.layer.*", "attention.self", "attention.output.dense"), ("query", "key", "value", None)),
        ("persimmon", ("layers.*", "self_attn", "self_attn.dense"), ("query_key_value",) * 3 + ("by-head",)),
    ],
)
@torch.no_grad()
def test_the_names_of_projections_are_found(name: str, paths: tuple[str, str, str], names: tuple[str, ...]) -> None:
    passes = SmallPasses(make(name))
    family, anatomy = bare_record(passes, *paths)
    assert [len(block.heads) for block in anatomy] == [HEADS] * 2
    proved, reason = prove_cut(passes, family, anatomy, [example_inputs(passes.model, padded=1)])
    assert reason is None
    (plan,) = proved.stacks
    assert (plan.query, plan.key, plan.value, plan.fused) == names
    assert (
        replace(plan, query=None, key=None, value=None, size=None, fused=None, counts=(), widths=(), groups=None)
        == (family.stacks[0])
    )
    assert proved.measured == ()


@torch.no_grad()
def test_a_cut_that_gives_something_else() -> None:
    """OLMo 2 normalises queries and keys over all heads: without some of them the others change."""
    passes = SmallPasses(make("olmo2"))
    family, anatomy = bare_record(passes, "layers.*", "self_attn", "self_attn.o_proj")
    same, reason = prove_cut(passes, family, anatomy, [example_inputs(passes.model, padded=1)])
    assert same is family
    assert reason == "no cut of the decoder gives what the model gives with these heads at zero"


def test_no_copy_no_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_COPY", 0)
    passes = SmallPasses(make("starcoder2"))
    family, anatomy = bare_record(passes, "layers.*", "self_attn", "self_attn.o_proj")
    assert prove_cut(passes, family, anatomy, []) == (family, "the model is too large for a copy to try a cut on")
