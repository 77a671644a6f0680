"""An intervention reaches the forward pass or raises; it is never a no-op."""

from __future__ import annotations

import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import NotReached
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact, inputs, run, tiny


def test_a_context_without_a_pass_is_no_error() -> None:
    """Nothing ran, so nothing was missed; and nothing of it is left in the passes that follow."""
    model, batch = tiny("bert"), inputs(BY_NAME["bert"])
    plain = run(model, batch)
    with hc.ablated(model, "L0H0"):
        pass
    assert torch.equal(run(model, batch), plain)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_attention_past_the_interface_raises_for_uniform() -> None:
    config = BY_NAME["gpt2"].make_config()
    config.reorder_and_upcast_attn = True
    model = tf.GPT2Model._from_config(config, attn_implementation="eager").eval()
    batch = inputs(BY_NAME["gpt2"])
    plain = run(model, batch)
    with pytest.raises(NotReached, match="L1"), hc.ablated(model, "L1H0", how="uniform"):
        run(model, batch)
    with hc.ablated(model, "L1H0", how="zero"):
        assert not torch.equal(run(model, batch), plain)


def test_a_changed_kernel_inside_the_context_raises_for_uniform() -> None:
    model, batch = tiny("bert", "sdpa"), inputs(BY_NAME["bert"])
    with pytest.raises(NotReached), hc.ablated(model, "L1H0", how="uniform"):
        model.set_attn_implementation("eager")
        run(model, batch)


def test_albert_touches_one_use_only() -> None:
    """Ablating L1H2 leaves what the first use gives, and changes what comes after the second."""
    model, batch = tiny("albert"), inputs(BY_NAME["albert"], "right")
    whole = hc.observe(model, batch).outputs["encoder"]
    for how in ("zero", "uniform"):
        with hc.ablated(model, "L1H2", how=how):
            seen = hc.observe(model, batch).outputs["encoder"]
        assert torch.equal(seen[0], whole[0])
        assert torch.equal(seen[1, [0, 1, 3]], whole[1, [0, 1, 3]])
        assert not torch.allclose(seen[1, 2], whole[1, 2])
        assert not torch.allclose(seen[2], whole[2])


def test_nested_edits_apply_in_the_order_of_entry() -> None:
    model, batch = exact("bert"), inputs(BY_NAME["bert"])
    gates = torch.ones(3, 4)
    gates[1, 2] = 2.0
    whole = hc.observe(model, batch).outputs["encoder"][1, 2]
    with hc.gated(model, gates), hc.gated(model, gates):
        assert_same(hc.observe(model, batch).outputs["encoder"][1, 2], 4 * whole)
    with hc.gated(model, gates), hc.ablated(model, "L1H2", how="uniform"):
        inner_uniform = hc.observe(model, batch).outputs["encoder"][1, 2]
    with hc.ablated(model, "L1H2", how="uniform"), hc.gated(model, gates):
        inner_gate = hc.observe(model, batch).outputs["encoder"][1, 2]
    assert_same(2 * inner_uniform, inner_gate)


def test_the_attention_interface_is_left_as_it_was() -> None:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as INTERFACE

    before = dict(INTERFACE._local_mapping), dict(INTERFACE._global_mapping)
    for kernel in ("sdpa", "eager"):
        model = tiny("bert", kernel)
        with hc.ablated(model, "L0H0", how="uniform"), hc.ablated(model, "L1", how="uniform"):
            run(model, inputs(BY_NAME["bert"]))
    assert (dict(INTERFACE._local_mapping), dict(INTERFACE._global_mapping)) == before
