"""A sound model is proved; each way of being another than it looks is refused, at the step that sees it."""

from __future__ import annotations

import copy

import pytest
import torch

import headcount.trace.small_passes as module
from headcount.errors import UnknownFamily
from headcount.models.families.plan import Family
from headcount.trace.proof import Proof, prove
from headcount.trace.small_passes import STEPS
from tests.trace import spoiled


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_a_sound_model_is_proved(kernel: str) -> None:
    model = spoiled.decoder(kernel=kernel)
    state = copy.deepcopy(model.state_dict())
    proof = prove(model)
    assert proof.dtype == torch.float64
    assert [(plan.stack, plan.layer, plan.output) for plan in proof.family.stacks] == [
        ("decoder", "layers.*", "self_attn.o")
    ]
    assert proof.no_cut is not None, "no attribute of this attention holds the size of a head by a usual name"
    assert "no cut of the decoder" in str(proof)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (spoiled.Swapped, "projection: no projection reads the outputs of layers.0.self_attn"),
        (spoiled.Scaled, "projection: no projection"),
        (spoiled.Bypassed, "projection: no projection"),
        (spoiled.ReadTwice, "projection: layers.0.self_attn.o, layers.0.self_attn.other reads"),
        (spoiled.Beside, "zero: something beside its output projection reads the heads of layers.0"),
        (spoiled.Dead, "zero: layers.0 gives the same without its heads"),
        (spoiled.AttendsElsewhere, "interface: a softmax over .2, 12, 12. is computed beside it"),
        (spoiled.AttendsTwice, "interface: an attention module is called several times"),
        (spoiled.Remembers, "replay: "),
        (spoiled.NoAttention, "interface: no attention runs through"),
    ],
)
def test_a_spoilt_attention_is_refused(kind: type[spoiled.Plain], said: str) -> None:
    with pytest.raises(UnknownFamily, match=f"type 'starcoder2' have no record.*{said}"):
        prove(spoiled.decoder((kind, kind)))


def test_layers_that_are_not_alike() -> None:
    with pytest.raises(UnknownFamily, match=r"layers: of 2 layers, \[0\] call"):
        prove(spoiled.decoder((spoiled.Plain, spoiled.NoAttention)))
    with pytest.raises(UnknownFamily, match="zero: something beside .* layers.1"):
        prove(spoiled.decoder((spoiled.Plain, spoiled.Beside)))


def test_a_module_that_serves_two_layers() -> None:
    model = spoiled.decoder()
    model.layers[1] = model.layers[0]
    with pytest.raises(UnknownFamily, match="called several times"):
        prove(model)


def test_a_model_that_takes_something_else() -> None:
    model = spoiled.decoder()
    model.main_input_name = "pixel_values"
    with pytest.raises(UnknownFamily, match="; inputs: AttributeError"):
        prove(model)


def test_a_kernel_that_is_not_heard() -> None:
    model = spoiled.decoder()
    model.config._attn_implementation_internal = "flash_attention_2"
    with pytest.raises(UnknownFamily, match="interface: got the attention implementation 'flash_attention_2'"):
        prove(model)


def test_a_large_model_is_proved_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_COPY", 0)
    model = spoiled.decoder()
    proof = prove(model)
    assert proof.dtype == torch.float32
    assert "too large for a copy" in str(proof.no_cut)
    with pytest.raises(UnknownFamily, match="zero: something beside"):
        prove(spoiled.decoder((spoiled.Beside, spoiled.Plain)))
    with pytest.raises(UnknownFamily, match="bfloat16 is too coarse"):
        prove(model.bfloat16())


def test_a_proof_in_words() -> None:
    family = Family(("some",), ())
    assert str(Proof(family, torch.float64)) == f"Proved on small passes in float64: {', '.join(STEPS)}, cut."
    assert str(Proof(family, torch.float32, "why")).endswith("Not proved: cut (why); heads can be ablated, not cut.")
